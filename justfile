# Run `just` for a list. Every recipe is a thin name for a command that works without just.

export PATH := justfile_directory() / ".venv/bin" + ":" + env("PATH")

# what can be done here
default:
    @just --list

# make .venv, install everything a contributor needs, and the commit hooks
setup:
    python3 -m venv .venv
    .venv/bin/python -m pip install --constraint .ci/constraints.txt --editable ".[train,export,serve,dev]"
    .venv/bin/pre-commit install --install-hooks
    npm ci --no-audit --no-fund --prefix tests/browser || echo "no npm: tests of the pages will skip"
    .ci/checks web

# the page of the server, with the answers of one that runs (dragoman serve BUNDLE), anew at each change of web/
page:
    npm run dev --prefix web

# every check, as they are run for each change
check:
    .ci/checks

# the quick tier of the tests
fast:
    .ci/checks fast

# some checks: just only lint types
only *checks:
    .ci/checks {{ checks }}

# put the code in order: format it, and mend what can be mended
tidy:
    python -m ruff format .
    python -m ruff check --fix .

# pytest with your own arguments: just test -k local_p
test *arguments:
    python -m pytest {{ arguments }}

# generated cases in numbers: just thorough tests/equations
thorough *arguments:
    DRAGOMAN_HYPOTHESIS=thorough python -m pytest {{ arguments }}

# the quick tier with every annotation of the package checked while it runs
typed:
    DRAGOMAN_BEARTYPE=1 python -m pytest -m "not slow" -W ignore::beartype.roar.BeartypeClawDecorWarning --ignore=tests/architecture

# all checks in an environment of their own, as on a clean machine
clean-room:
    .ci/run

# training, disturbed: 200 kills and all the rest, about a quarter of an hour
campaign *arguments:
    python -m benchmarks.campaign {{ arguments }}

# the service, disturbed: every promise with a planted fault, about an hour; some rows: just serving-campaign overload drain
serving-campaign *rows:
    python -m benchmarks.serving_campaign run {{ rows }}

# the service under load: throughput, latency or peer, with --bundle BUNDLE
serving part *arguments:
    python -m benchmarks.serving {{ part }} {{ arguments }}
