"""Kills in the middle of writes: what was acknowledged is stored, and once.

    python -m benchmarks.memory_kills sqlite|postgresql|nginx [--kills 500] [--minutes 60]

sqlite, postgresql: two processes write to one database, and print what is stored: corrections, each sent twice, imports
of 20 units, terms of glossaries, and translated documents. One of them is killed (SIGKILL) at a random moment and
started again. In the end everything that was printed must be there once, with its content, and nothing by half.
nginx: two servers behind nginx (deploy/nginx/replicas.conf) with one PostgreSQL; two clients send the same kinds of
writes over HTTP, and new glossaries, and one of the servers is killed and started again. What was answered with success
must be there, once.

Controls come first: a writer that acknowledges before it stores, and one that stores twice, must be found.
PostgreSQL runs with fsync, in a folder of its own. No machine lost its power: kills show what processes lose.
"""

from __future__ import annotations

import contextlib
import random
import subprocess
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx

from benchmarks.replicas import nginx_config, socket_to
from benchmarks.reporting import heading, parser, table, write
from benchmarks.serving.process import Server, dragoman_serve, end_on_sigterm, free_port
from dragoman.storage.database import Database
from testkit.memory_kills import BATCH, Control, kill_writers, letters
from testkit.postgresql import postgresql_server
from testkit.random_bundle import random_bundle

PAIR = {"source": "en", "target": "de"}
DEEPL_PAIR = {"source_lang": "en", "target_lang": "de"}
CONTROLS: dict[Control, str] = {"early": "lost", "double": "twice"}
"""Faults, and a word of the message that must report each."""


class Client(threading.Thread):
    """Sends writes to nginx without a pause; failed ones are not repeated."""

    def __init__(self, url: str, number: int) -> None:
        super().__init__(daemon=True)
        self._url, self.number = url, number
        self.stored: dict[str, set[int]] = {each: set() for each in ("corrections", "units", "terms", "glossaries")}
        self.documents = self.failed = 0
        self.wrong: list[str] = []
        self.is_ended = False
        made = httpx.post(f"{url}/v2/glossaries", json=self._glossary(f"terms {number}"), timeout=60)
        self.glossary: str = made.raise_for_status().json()["glossary_id"]

    def run(self) -> None:
        with httpx.Client(base_url=self._url, timeout=30) as http:
            number = self.number
            while not self.is_ended:
                for kind in (*self.stored, "documents"):
                    try:
                        getattr(self, f"_{kind}")(http, number)
                    except httpx.HTTPError:
                        self.failed += 1
                        time.sleep(0.05)
                    else:
                        self.stored.get(kind, set()).add(number)
                number += 2

    def _glossary(self, name: str) -> dict[str, str]:
        return {"name": name, **DEEPL_PAIR, "entries": "begun\tbegonnen", "entries_format": "tsv"}

    def _corrections(self, http: httpx.Client, number: int) -> None:
        body = {"source_text": f"text {letters(number)}", "text": f"Satz {letters(number)}", **PAIR}
        http.post("/v1/corrections", json=body).raise_for_status()

    def _units(self, http: httpx.Client, number: int) -> None:
        lines = "".join(f"unit {letters(each)} of {letters(number)}\t{number}\n" for each in range(BATCH))
        query = {"format": "tsv", **PAIR}
        http.put("/v1/memories/imported", params=query, content=lines.encode()).raise_for_status()

    def _terms(self, http: httpx.Client, number: int) -> None:
        more = {**DEEPL_PAIR, "entries": f"term {letters(number)}\t{number}"}
        http.patch(f"/v3/glossaries/{self.glossary}", json={"dictionaries": [more]}).raise_for_status()

    def _glossaries(self, http: httpx.Client, number: int) -> None:
        made = http.post("/v2/glossaries", json=self._glossary(f"glossary {number}")).raise_for_status().json()
        if number % 20 != self.number:  # few are kept: a server has at most 1,000
            http.delete(f"/v2/glossaries/{made['glossary_id']}").raise_for_status()

    def _documents(self, http: httpx.Client, number: int) -> None:
        """Upload a document, wait for its translation, and fetch it; each request may reach another server."""
        text = f"text {letters(number)}"  # that has a correction
        handle = http.post("/v2/document", data=DEEPL_PAIR, files={"file": ("a.txt", text.encode())})
        where = f"/v2/document/{handle.raise_for_status().json()['document_id']}"
        key = {"document_key": handle.json()["document_key"]}
        end = time.monotonic() + 20
        while (status := http.post(where, json=key).raise_for_status().json()["status"]) != "done":
            if time.monotonic() > end:  # the server that translated it was killed
                raise httpx.HTTPError(status)
            time.sleep(0.05)
        result = http.post(f"{where}/result", json=key).raise_for_status()
        if number in self.stored["corrections"] and result.text != f"Satz {letters(number)}":
            self.wrong.append(f"document {number}: {result.text[:80]}")
        self.documents += 1


@contextlib.contextmanager
def two_servers(folder: Path, database: str) -> Iterator[tuple[str, list[Server], Any]]:
    """Start two servers and nginx; yield its address, the servers and a function that starts one again."""
    bundle = random_bundle(folder / "bundle", languages=("en", "de")).folder
    ports, port = [free_port(), free_port()], free_port()

    def start(number: int) -> Server:
        settings = {"threads": 1, "beam": 1, "database": database, "log": "off"}
        command = dragoman_serve([f"en-de={bundle}"], ports[number], settings)
        return Server(command, ports[number], folder / f"server-{number}.log")

    servers = [start(0), start(1)]
    config = folder / "nginx.conf"
    config.write_text(nginx_config(folder, port, ports, retries=True), encoding="utf-8")
    nginx = subprocess.Popen(["nginx", "-p", str(folder), "-c", str(config), "-g", "daemon off;"])
    try:
        for server in servers:
            server.wait_until_ready()
        while True:
            with socket_to(port) as is_open:
                if is_open:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}", servers, start
    finally:
        nginx.terminate()
        nginx.wait()
        for server in servers:
            server.process.kill()
            server.process.wait()


def kill_servers(database: str, kills: int, seconds: float, seed: int = 1) -> tuple[int, dict[str, int]]:
    """Kill servers while clients write; return the number of kills and of acknowledged writes by kind."""
    rng = random.Random(seed)
    end = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder, two_servers(Path(folder), database) as (url, servers, start):
        clients = [Client(url, 0), Client(url, 1)]
        for client in clients:
            client.start()
        count = 0
        while count < kills and time.monotonic() < end:
            time.sleep(0.2 + rng.random())
            place = rng.randrange(2)
            servers[place].process.kill()
            servers[place].process.wait()
            servers[place] = start(place)
            servers[place].wait_until_ready()
            count += 1
            print(f"{count} kills", flush=True)
        for client in clients:
            client.is_ended = True
        for client in clients:
            client.join(60)
        stored = {kind: clients[0].stored[kind] | clients[1].stored[kind] for kind in clients[0].stored}
        check_servers(url, stored, [client.glossary for client in clients])
    wrong = [each for client in clients for each in client.wrong]
    assert not wrong, wrong[:3]
    counts = {kind: len(numbers) for kind, numbers in stored.items()}
    counts["documents"] = sum(client.documents for client in clients)
    counts["requests without success"] = sum(client.failed for client in clients)
    return count, counts


def check_servers(url: str, stored: dict[str, set[int]], glossaries: list[str]) -> None:
    """Compare the content of the database with the answers."""
    with httpx.Client(base_url=url, timeout=60) as http:
        units = [(each["source"], each["target"]) for each in pages(http, "corrections")]
        assert len(units) == len(set(units)), "no correction may be stored twice"
        wanted = {(f"text {letters(number)}", f"Satz {letters(number)}") for number in stored["corrections"]}
        assert wanted <= set(units), "a correction is lost"
        imported = Counter(int(each["target"]) for each in pages(http, "imported"))
        assert set(imported.values()) == {BATCH}, "an import must be stored as a whole, and once"
        assert stored["units"] <= imported.keys(), "an import is lost"
        terms = "".join(
            http.get(f"/v2/glossaries/{each}/entries").raise_for_status().text + "\n" for each in glossaries
        )
        found = [int(line.split("\t")[1]) for line in terms.splitlines() if line.startswith("term ")]
        assert len(found) == len(set(found)), "no term may be stored twice"
        assert stored["terms"] <= set(found), "a term is lost"
        names = Counter(each["name"] for each in http.get("/v3/glossaries").json()["glossaries"])
        assert set(names.values()) == {1}, f"no glossary may be stored twice: {names.most_common(3)}"
        kept = {f"glossary {number}" for number in stored["glossaries"] if number % 20 in (0, 1)}
        assert kept <= names.keys(), "a glossary is lost"


def pages(http: httpx.Client, memory: str) -> Iterator[dict[str, str]]:
    """Yield all units of a memory."""
    after: str | None = ""
    while after is not None:
        found = http.get(f"/v1/memories/{memory}/units", params={"after": after}).raise_for_status().json()
        yield from found["units"]
        after = found["next"]


def run(kind: str, kills: int, seconds: float) -> tuple[int, dict[str, int]]:
    """Run the controls, then the kills, each on a new database."""
    with contextlib.ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        server = "" if kind == "sqlite" else stack.enter_context(postgresql_server())

        def database(name: str) -> str:
            if not server:
                return f"sqlite:///{Path(folder) / name}.db"
            with contextlib.closing(Database.open(server)) as opened:
                connection = opened.engine.raw_connection()
                connection.driver_connection.autocommit = True  # type: ignore[union-attr]
                connection.cursor().execute(f"CREATE DATABASE {name}")
            return server.replace("/postgres?", f"/{name}?")

        for control, word in CONTROLS.items():
            try:
                kill_writers(database(control), 20, control=control)
                message = ""
            except AssertionError as error:
                message = str(error)
            print(f"control {control}: {message}", flush=True)
            if word not in message:
                raise SystemExit(f"the control {control} was not found")
        if kind == "nginx":
            return kill_servers(database("kills"), kills, seconds)
        return kill_writers(database("kills"), kills, seconds=seconds)


def main() -> None:
    end_on_sigterm()
    options = parser(__doc__)
    options.add_argument("kind", choices=("sqlite", "postgresql", "nginx"))
    options.add_argument("--kills", type=int, default=500)
    options.add_argument("--minutes", type=float, default=60, help="end earlier, with fewer kills")
    chosen = options.parse_args()
    start = time.perf_counter()
    kills, stored = run(chosen.kind, chosen.kills, 60 * chosen.minutes)
    seconds = time.perf_counter() - start
    text = heading(
        f"Kills in the middle of writes: {chosen.kind}", f"python -m benchmarks.memory_kills {chosen.kind}", 1
    )
    text += f"\n{(__doc__ or '').replace('    python', '    $ python')}\n"
    text += f"{kills:,} kills in {seconds:,.0f} s, with other work on the machine. Nothing acknowledged was lost, and "
    text += "nothing is stored twice or by half; both controls were found.\n\n"
    text += table(["acknowledged", "number"], [[kind, f"{number:,}"] for kind, number in stored.items()])
    write(f"memory-kills-{chosen.kind}", text, {"kills": kills, "seconds": round(seconds), "acknowledged": stored})


if __name__ == "__main__":
    main()
