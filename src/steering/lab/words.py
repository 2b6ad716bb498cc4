"""Plain words for people who never heard of exploration bonuses: what a world is, and how an agent decides."""

from __future__ import annotations

import re

from steering.agents import Agent, list_agents
from steering.agents.registry import AGENTS
from steering.envs.entries import ENTRIES

HOW = {
    "steering": "Adds a bonus where it can still learn something that matters for reward, so it plans its way to what "
    "it does not know.",
    "q_learning": "Does what has paid best so far, and now and then something at random. Nothing leads it to the "
    "unknown.",
    "bayesian_q": "Keeps a range of what every action may be worth, draws from these ranges, and takes the best draw.",
    "ube": "Works out how unsure every value is, adds that to it with noise, and takes the best.",
    "mm": "Works out mean and spread of every value, draws from them, and takes the best draw.",
    "psrl": "Imagines one world that fits what it saw and does what is best there; at the next plan it imagines "
    "another. Nothing leads it to the unknown but chance.",
    "ids": "Adds a bonus for what it would learn about the world to the value of every action.",
    "ucrl2b": "Believes in the best world that its data do not rule out, and does what is best there.",
    "ucbvi": "Adds a bonus to what it knows little about, smaller with every visit.",
    "mbie_eb": "Adds a bonus to what it knows little about, smaller with the root of the visits.",
    "rmax": "Takes everything that was tried a few times only for paradise, until it was tried often enough.",
    "opsrl": "Imagines a few worlds that fit what it saw, and believes in the best of them.",
    "rlsvi": "Shakes every reward at random, the more the less it knows, and does what is best then.",
    "eubrl": "Adds what it is unsure about to the reward, with less weight as it learns.",
    "k_learning": "Likes risk: values are larger where it is unsure, and better actions are taken more often.",
    "vapor": "Goes where the best way is likely to lead, by what it believes.",
    "ucb_q": "Keeps no map: every value starts high and comes down as it is tried.",
    "beb": "Adds a bonus to every action, smaller with every visit.",
    "vbrb": "Adds a bonus as large as it is unsure about the outcome of an action.",
    "bamcp": "Thinks ahead in many imagined worlds what it would learn, and takes what comes out best.",
}
"""How each agent of the package decides, in a sentence or two."""
DRAWS = ("psrl",)
"""Agents whose plan is the best one in a single world that they drew."""
VAGUE = ("gym", "file")
"""Names that stand for many environments."""


def how(agent: Agent) -> str:
    """How an agent decides: a sentence of ours, or the summary that somebody's own agent brings."""
    name = _name(agent)
    if name in HOW:
        return HOW[name]
    return next((str(row["summary"]) for row in list_agents() if row["name"] == name), "")


def draws(agent: Agent) -> bool:
    """Whether it acts on one world that it drew."""
    return _name(agent) in DRAWS


def what(text: str) -> str:
    """What an environment is, for its text; nothing where nothing is known."""
    name = text.partition(":")[0]
    if name in VAGUE or name not in ENTRIES:
        return ""
    return re.sub(r" \([^()]*\)\.$", ".", ENTRIES[name].summary)  # what stands in brackets is for those who know


def _name(agent: Agent) -> str:
    return next((name for name, entry in AGENTS.items() if entry.kind is type(agent)), "")
