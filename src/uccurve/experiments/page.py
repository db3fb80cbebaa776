"""One page that shows every result of a folder: tables with ours beside the paper's, claims and figures."""

from collections.abc import Sequence

from .results import Result, shown, tables

TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>The paper, recomputed</title>
<style>
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; margin: .5rem 0 1.5rem; font-size: .9rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding: .3rem 0; }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #8886; text-align: right; white-space: nowrap; }
th:first-child, td:first-child, .text { text-align: left; white-space: normal; }
.wide { overflow-x: auto; }
figure { margin: 1rem 0 2rem; }
img { max-width: 100%; height: auto; background: white; }
figcaption, .quiet { color: #777; font-size: .9rem; }
</style>
</head>
<body>
<h1>The paper, recomputed</h1>
<p>Navr&aacute;til, Elder, Arnold, Ghosh and Sattigeri, <em>Uncertainty Characteristics Curves: A Systematic
Assessment of Prediction Intervals</em>. In each cell: our mean &plusmn; standard deviation over the seeds, and the
paper's value in brackets. ED is excess/deficit with the excess on the error's side (overshoot), BM is bandwidth and
miss rate.</p>
<ul>{% for r in results %}<li><a href="#{{ r.experiment }}">{{ r.title }}</a></li>{% endfor %}</ul>
{% for r in results %}
<section id="{{ r.experiment }}">
<h2>{{ r.title }}</h2>
<p class="quiet">{{ "Quick run: small data and models, not to be compared. " if r.quick }}Seeds
{{ r.seeds | join(", ") }};
{% for name, version in r.versions.items() %}{{ name }} {{ version }}{{ ", " if not loop.last }}{% endfor %}.
All numbers: <a href="{{ r.experiment }}.json">{{ r.experiment }}.json</a>.</p>
<details><summary>Settings</summary><table><tbody>
{% for name, value in r.settings.items() %}<tr><th scope="row">{{ name }}</th>
<td class="text">{{ value | tojson }}</td></tr>
{% endfor %}</tbody></table></details>
{% for name, (models, measures, cells) in tables(r).items() %}
<div class="wide"><table><caption>{{ name }}</caption>
<thead><tr><th></th>{% for m in measures %}<th>{{ m }}</th>{% endfor %}</tr></thead>
<tbody>{% for model in models %}<tr><th scope="row">{{ model }}</th>
{% for m in measures %}<td>{{ shown(cells.get((model, m))) }}</td>{% endfor %}</tr>
{% endfor %}</tbody></table></div>
{% if name in r.reasons %}<p>{{ r.reasons[name] }}</p>{% endif %}
{% endfor %}
{% if r.claims %}<table><caption>What the paper says</caption>
<thead><tr><th>holds in</th><th class="text">claim</th><th class="text">where</th></tr></thead>
<tbody>{% for c in r.claims %}<tr><td>{{ c.holds }} of {{ c.seeds }}</td><td class="text">{{ c.text }}</td>
<td class="text">{{ c.where }}</td></tr>
{% endfor %}</tbody></table>{% endif %}
{% for f in r.figures %}<figure><img src="{{ f.name }}.svg" alt="{{ f.caption }}">
<figcaption>{{ f.caption }}</figcaption></figure>
{% endfor %}
</section>
{% endfor %}
</body>
</html>
"""


def page(results: Sequence[Result]) -> str:
    """The results as one HTML page; the figures stay files beside it."""
    from jinja2 import Environment

    template = Environment(autoescape=True, trim_blocks=True).from_string(TEMPLATE)
    return template.render(results=results, tables=tables, shown=shown)
