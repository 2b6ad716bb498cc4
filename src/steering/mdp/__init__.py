"""Finite MDPs and exact planning in them."""

from steering.mdp.evaluation import action_values, evaluate, occupancy, policy_chain
from steering.mdp.finite_horizon import FiniteSolution, backward_induction, evaluate_finite, occupancy_finite
from steering.mdp.hardness import Hardness, hardness
from steering.mdp.io import load, save
from steering.mdp.long_run import average_reward, bias, expected_reward_curve, expected_total_reward, gain
from steering.mdp.lp import linear_program
from steering.mdp.planning import Solution, modified_policy_iteration, policy_iteration, solve, value_iteration
from steering.mdp.tabular import TabularMDP

__all__ = [
    "FiniteSolution",
    "Hardness",
    "Solution",
    "TabularMDP",
    "action_values",
    "average_reward",
    "backward_induction",
    "bias",
    "evaluate",
    "evaluate_finite",
    "expected_reward_curve",
    "expected_total_reward",
    "gain",
    "hardness",
    "linear_program",
    "load",
    "modified_policy_iteration",
    "occupancy",
    "occupancy_finite",
    "policy_chain",
    "policy_iteration",
    "save",
    "solve",
    "value_iteration",
]
