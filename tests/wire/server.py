"""Starting the real server on free ports, and reading from its stdout where its doors are."""

import os
import pathlib
import queue
import signal
import subprocess
import threading

import store
from polling import PATIENCE_S, eventually

ROOT = pathlib.Path(__file__).resolve().parents[2]
BINARY = os.environ.get("TIDEGATE_BIN", str(ROOT / "target/release/tidegate"))
ANY_PORT = "127.0.0.1:0"
DOORS = {"http+grpc": "http", "resp": "resp", "msgpack": "msgpack"}


def clean_environment(**extra):
    """Ours, without any option that it sets for a server."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TIDEGATE_")}
    return kept | extra


def run_tidegate(*args, env=None, **kwargs):
    """Runs a command of the binary to its end."""
    return subprocess.run(
        [BINARY, *map(str, args)],
        env=clean_environment(**(env or {})),
        capture_output=True,
        text=True,
        timeout=60,
        **kwargs,
    )


class Server:
    """One running server. Addresses are (host, port); a door that is closed is None. Doors are on ports that are free unless said."""

    def __init__(self, folder, *flags, env=None, data_dir=None, restore_signals=True, **addresses):
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.data_dir = data_dir or folder / "data"
        self.http = self.resp = self.msgpack = None
        self.banner = []
        doors = [f"--{door}={addresses.get(door, ANY_PORT)}" for door in DOORS.values()]
        self.log_path = folder / "server.log"
        with open(self.log_path, "ab") as log:
            self.process = subprocess.Popen(
                [BINARY, "serve", *doors, f"--data-dir={self.data_dir}", *map(str, flags)],
                env=clean_environment(**store.variables(self.data_dir, run_tidegate) | (env or {})),
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=folder,
                restore_signals=restore_signals,
            )
        self._read_banner()

    def _read_banner(self):
        """The line that starts with `try:` is the last; each door's line names it and its address."""
        lines = queue.Queue()
        threading.Thread(target=self._pump, args=(lines,), daemon=True).start()
        while True:
            try:
                line = lines.get(timeout=PATIENCE_S)
            except queue.Empty:
                line = None
            assert line is not None, f"the server did not start:\n{self.banner}\n{self.log()}"
            self.banner.append(line)
            words = line.split()
            if len(words) >= 2 and words[0] in DOORS and ":" in words[1]:
                host, port = words[1].rsplit(":", 1)
                setattr(self, DOORS[words[0]], (host, int(port)))
            if line.startswith("try:"):
                return

    def _pump(self, lines):
        for line in self.process.stdout:
            lines.put(line.rstrip("\n"))
        lines.put(None)

    @property
    def url(self):
        return "http://{}:{}".format(*self.http)

    @property
    def pid(self):
        return self.process.pid

    def log(self):
        return self.log_path.read_text(errors="replace")

    def is_running(self):
        return self.process.poll() is None

    def ask_to_stop(self):
        self.process.send_signal(signal.SIGTERM)

    def stop(self):
        """Asks it to stop, and returns how it ended."""
        if self.is_running():
            self.ask_to_stop()
        return self.wait()

    def wait(self):
        eventually(lambda: not self.is_running(), "the server ended", within_s=20)
        return self.process.returncode

    def kill(self):
        """As a crash would: no drain, no last flush."""
        self.process.kill()
        self.process.wait()
