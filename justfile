# Run `just` for a list. Every recipe calls a command that also works without just.

export PATH := justfile_directory() / ".venv/bin" + ":" + env("PATH")

# list the recipes
default:
    @just --list

# create .venv, install the development dependencies and the commit hooks
setup:
    python3 -m venv .venv
    .venv/bin/python -m pip install --constraint .ci/constraints.txt --editable ".[all,cluster,docs,dev]"
    .venv/bin/pre-commit install --install-hooks
    npm ci --no-audit --no-fund --prefix tests/browser || echo "no npm: tests of the pages will skip"
    .ci/checks web

# serve the web page with hot reload; requests go to a running `dragoman serve BUNDLE`
page:
    npm run dev --prefix web

# build the documentation into build/site
site:
    python -m sphinx -W --keep-going -c docs/site . build/site

# run every check
check:
    .ci/checks

# run the quick tier of the tests
fast:
    .ci/checks fast

# run some checks: just only lint types
only *checks:
    .ci/checks {{ checks }}

# format the code and apply automatic fixes
tidy:
    python -m ruff format .
    python -m ruff check --fix .

# run pytest with arguments: just test -k local_p
test *arguments:
    python -m pytest {{ arguments }}

# run many generated cases: just thorough tests/equations
thorough *arguments:
    DRAGOMAN_HYPOTHESIS=thorough python -m pytest {{ arguments }}

# run the quick tier with runtime type checks
typed:
    DRAGOMAN_BEARTYPE=1 python -m pytest -m "not slow and not measure and not long" -W ignore::beartype.roar.BeartypeClawDecorWarning --ignore=tests/architecture

# run all checks in a separate environment, as on a clean machine
clean-room:
    .ci/run

# rehearse a release: build, check and use the wheel with every extra (docs/releasing.md); some: just release --extras base serve
release *arguments:
    python -m pip install --quiet --group release
    npm ci --no-audit --no-fund --prefix web && npm run build --prefix web
    rm -rf dist && python -m build
    python -m twine check --strict dist/*
    python .ci/release.py contents dist
    python -m benchmarks.wheel_walkthrough --wheel dist/*.whl {{ arguments }}

# training fault campaign: 200 kills and other faults, about half an hour; some guarantees: just campaign kills disks
campaign *arguments:
    python -m benchmarks.training_campaign {{ arguments }}

# serving fault campaign: every guarantee with a negative control, about an hour; some experiments: just serving-campaign overload drain
serving-campaign *experiments:
    python -m benchmarks.serving_campaign run {{ experiments }}

# load test of the server: throughput, latency or peer, with --bundle BUNDLE
serving part *arguments:
    python -m benchmarks.serving {{ part }} {{ arguments }}
