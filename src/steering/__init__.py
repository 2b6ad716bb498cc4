"""STEERING: Stein information directed exploration for finite Markov decision processes."""
