"""Agents: one file each, one small interface (plan, act, observe), one registry."""

from steering.agents.base import Agent, Problem
from steering.agents.registry import describe_agent, list_agents, make_agent

__all__ = ["Agent", "Problem", "describe_agent", "list_agents", "make_agent"]
