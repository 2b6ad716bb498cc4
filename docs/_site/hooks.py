"""Build hooks of the documentation site: formulas become MathML and code gets its colours, all at build time.

A reader's browser fetches nothing but files of the site. Formulas are written as LaTeX between dollars; browsers
draw MathML themselves.
"""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pygments.formatters import HtmlFormatter

FORMULA = re.compile(r'<(span|div) class="arithmatex">(.*?)</\1>', flags=re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the style sheet of code, light and dark."""
    light = HtmlFormatter(style="default").get_style_defs(".highlight")
    dark = HtmlFormatter(style="github-dark").get_style_defs('[data-bs-theme="dark"] .highlight')
    files.append(File.generated(config, "assets/code.css", content=f"{light}\n{dark}\n"))
    return files


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Replace every formula of a page by MathML."""
    return FORMULA.sub(lambda found: _mathml(found, page.file.src_uri), content)


def _mathml(found: re.Match[str], page: str) -> str:
    display = "block" if found.group(1) == "div" else "inline"
    latex = html.unescape(found.group(2)).strip()[2:-2].strip()  # without \( \) or \[ \]
    mathml = convert(latex, display=display)
    if "\\" in html.unescape(mathml):
        raise PluginError(f"{page}: the formula {latex} has a command that is not known to the converter.")
    return f'<div class="formula">{mathml}</div>' if display == "block" else mathml
