"""Options of STEERING and their presets; what they do is in `steering.agents.steering`."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar

from steering._checks import choose, in_range
from steering.agents.base import ModelBasedOptions
from steering.errors import InvalidOption
from steering.stein import get_operator

PLAIN: dict[str, Any] = {
    "replan": "every",
    "value_weight": 0.0,
    "unseen": "independent",
    "rows": "independent",
    "evenness": "none",
    "far": 0.0,
    "excursions": 0.0,
    "persistence": 0.0,
}
"""What all presets but the default do without."""


@dataclass(frozen=True, init=False)
class SteeringOptions(ModelBasedOptions):
    """Options of STEERING, given by name; `preset` sets several of them at once, others given beside it win.

    All that an agent does follows from the other options; the preset is a name for a set of them. So
    ``dataclasses.replace(options, preset="paper")``, which gives every option beside the preset, is the same agent
    under a longer text.
    """

    concentration: str = "learned"
    reward_scale: str = "open"
    replan: str = "learned"
    preset: str = "default"
    """Set of options: "default" (what measures best), "paper" (the literal reading), "paper-sound" (the paper with a
    sound operator and mean-model planning), "v1" (the default of version 0.1)."""
    objective: str = "regularised"
    """What a policy is best for: "regularised" or "ratio"."""
    info_weight: float = 0.0
    """Weight lambda of the Stein information D in the regularised objective (the paper's is 0.5)."""
    value_weight: float = 0.3
    """Weight c of the root of the Stein information about value; it plays no part with sampled models or the ratio."""
    weight_unit: str = "prior"
    """What lambda is in units of: "prior" (u is the prior's spread of mean rewards, relative to that of the paper's
    prior) or "none" (lambda as it is, u = 1)."""
    planning: str = "data"
    """Model in which plans are made: "data" (the mean under a prior worth one observation of a row at most), "mean" (of
    the posterior), "sampled"."""
    rows: str = "related"
    """Of a state, in the model of the data: "related" (what the prior expects of an action that was tried is where the
    actions of its state were seen to lead) or "independent". It plays no part with other models or the ratio."""
    evenness: str = "learned"
    """Of the chances of outcomes seen, in the model of the data: "learned" (drawn towards equal ones as far as all rows
    together say so) or "none" (as counted). It plays no part with other models."""
    operator: str = "barker"
    """Stein operator: barker, difference, gibbs, ..."""
    reference: str = "mean"
    """What stands for the truth: "mean" (posterior mean), "empirical" (dictionary) or "draw" (a second draw)."""
    expectation: str = "exact"
    """Over the posterior of q: "exact", "draws" (Monte Carlo) or "model" (none: q is the planning model)."""
    draws: int = 2
    """Number of posterior draws for v* and for expectation="draws"."""
    novelty: float = 0.5
    """Weight of rewards never seen in the regularised objective; it plays no part with sampled models or the ratio."""
    unseen: str = "alike"
    """Rewards never seen of a row: "alike" (worth what the belief promises, of pairs never tried and of others) or
    "independent"."""
    persistence: float = 3.0
    """How the worth of rewards never seen grows with time, where they are alike: that of a pair with n visits is
    multiplied by sqrt(1 + g h / (1 + n)^2), h = min(1, 2 / (1 + n)), g being persistence times the mean number of
    visits of a pair."""
    reward_noise: float = 0.6
    """Weight of the noise on rewards seen in the regularised objective; it plays no part with sampled models or the
    ratio."""
    far: float = 10.0
    """Horizon of plans in numbers of states, at least, where there is no horizon; 0: the discount as it is."""
    excursions: float = 8.0
    """Factor c of the steps set aside for information, c sqrt(t) of t; 0 (and expectation=model): none."""
    selection: str = "none"
    """Of samples: "none"; "dictionary" (the paper's choice of samples feeds the dictionary only); "posterior" (the
    posterior sees only what was selected, as the paper reads; this biases it)."""

    presets: ClassVar[dict[str, dict[str, Any]]] = {
        "default": {},
        "v1": {**PLAIN, "reward_scale": "learned", "info_weight": 0.3, "reward_noise": 1.0},
        "paper": {
            **PLAIN,
            "reward_noise": 1.0,
            "info_weight": 0.5,
            "weight_unit": "none",
            "concentration": "fixed",
            "reward_scale": "fixed",
            "planning": "sampled",
            "operator": "difference",
            "reference": "empirical",
            "expectation": "model",
            "selection": "posterior",
        },
        "paper-sound": {
            **PLAIN,
            "info_weight": 0.5,
            "weight_unit": "none",
            "concentration": "fixed",
            "reward_scale": "fixed",
            "planning": "mean",
            "reference": "empirical",
            "expectation": "draws",
            "draws": 10,
            "novelty": 0.0,
            "reward_noise": 0.0,
            "selection": "dictionary",
        },
    }

    def __init__(self, **given: Any) -> None:
        plain = {field.name: field.default for field in fields(self)}
        unknown = sorted(given.keys() - plain.keys())
        if unknown:
            raise TypeError(f"{type(self).__name__} has no option '{unknown[0]}'.")
        for name, value in {**plain, **self.presets.get(given.get("preset", ""), {}), **given}.items():
            object.__setattr__(self, name, value)
        self.__post_init__()

    def __post_init__(self) -> None:
        super().__post_init__()
        choose("preset", self.preset, tuple(self.presets))
        choose("objective", self.objective, ("regularised", "ratio"))
        choose("weight_unit", self.weight_unit, ("prior", "none"))
        choose("planning", self.planning, ("data", "mean", "sampled"))
        choose("reference", self.reference, ("mean", "empirical", "draw"))
        choose("expectation", self.expectation, ("exact", "draws", "model"))
        choose("selection", self.selection, ("none", "dictionary", "posterior"))
        choose("unseen", self.unseen, ("alike", "independent"))
        choose("rows", self.rows, ("related", "independent"))
        choose("evenness", self.evenness, ("none", "learned"))
        for name in ("info_weight", "value_weight", "novelty", "reward_noise", "far", "excursions", "persistence"):
            in_range(name, getattr(self, name), 0.0)
        in_range("draws", self.draws, 2 if self.expectation == "draws" else 1)
        # A row without data has a concentration of eta, which may be anything above 0.
        if get_operator(self.operator).alpha_above > 0 and self.expectation != "model":
            raise InvalidOption(
                f"operator '{self.operator}' has an infinite posterior expectation unless every outcome was seen; use "
                "expectation=model, or operator=barker."
            )
        if self.reference == "draw" and self.expectation == "model":
            raise InvalidOption("reference=draw needs an expectation; use expectation=exact or expectation=draws.")
        if self.normal_gamma[2] <= 1:
            raise InvalidOption(
                f"normal_gamma has alpha = {self.normal_gamma[2]}; the spread of mean rewards needs alpha above 1."
            )
