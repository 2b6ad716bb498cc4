"""Agents: options, then plan, act, observe; one file for each."""

from steering._checks import choose, in_range
from steering.agents.base import Agent, ModelBasedAgent, ModelBasedOptions, Problem
from steering.agents.registry import describe_agent, list_agents, make_agent, register_agent

__all__ = [
    "Agent",
    "ModelBasedAgent",
    "ModelBasedOptions",
    "Problem",
    "choose",
    "describe_agent",
    "in_range",
    "list_agents",
    "make_agent",
    "register_agent",
]
