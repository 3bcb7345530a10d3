"""The page as one HTML file: nothing is loaded from anywhere, and nothing that a stranger named becomes markup."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jinja2 import Environment, PackageLoader, StrictUndefined

from ixbench_plugins.reporters.text import clean

if TYPE_CHECKING:
    from typing import Any

    from ixbench_plugins.reporters.page.parts import Page


def html(page: Page, theme: str) -> str:
    """Return the file.

    :param theme: auto, light or dark.
    """
    template = template_environment().get_template("page.html.jinja")
    return template.render(page=page, theme=theme, questions=questions_schema(page))


def template_environment() -> Environment:
    """Return what renders the templates of this folder: escaped, strict, and without control characters."""
    return Environment(
        loader=PackageLoader("ixbench_plugins.reporters.page"),
        autoescape=True,
        finalize=_shown,
        undefined=StrictUndefined,
        trim_blocks=True,
        keep_trailing_newline=True,
    )


def questions_schema(page: Page) -> dict[str, Any]:
    """Return the questions in the vocabulary of schema.org, by which search engines find them."""
    return {
        "@context": "https://schema.org",
        "@type": "FAQPage",
        "mainEntity": [
            {
                "@type": "Question",
                "name": clean(part.question),
                "acceptedAnswer": {"@type": "Answer", "text": clean(part.answer)},
            }
            for section in page.sections
            for part in section.questions
        ],
    }


def _shown(value: object) -> object:
    """Return what a template prints: text without control characters; markup that the template made itself as it is."""
    if isinstance(value, str) and not hasattr(value, "__html__") and not value.isprintable():
        return clean(value)
    return value
