"""What a sweep leaves on the disk: whole shards or nothing; never imports what computes them."""
