# SPDX-License-Identifier: Apache-2.0
"""A headless browser for tests of pages that tools write; without one they are skipped (`make test-pages` installs it).

    from browser import Browser, needs_browser

    @needs_browser
    def test_page(tmp_path):
        with Browser(tmp_path) as page:
            page.open(tmp_path / "page.html")
            page.click(*page.middle("#button"))
            assert page.value("document.title") == "…"  # any JavaScript
            page.keep("page.png")                       # into FACULA_TEST_PICTURES, if that is a folder
            assert page.complaints() == []
"""

import base64
import fcntl
import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading

import pytest

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(not BROWSER, reason="no chromium: make test-pages installs it")


def command(tmp_path, *options):
    """It asks for no network, no display and no sandbox, which containers do not allow."""
    return [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", f"--user-data-dir={tmp_path}/browser", *options]


def browse(path, *options, tmp_path):
    """What chromium prints."""
    return subprocess.run([*command(tmp_path, *options), path], capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": str(tmp_path)}).stdout


class Browser:
    """A page, with a mouse and a keyboard: messages of the DevTools protocol over two pipes, each ended by a zero."""

    def __init__(self, tmp_path):
        theirs_in, self._to = os.pipe()
        self._from, theirs_out = os.pipe()
        # The browser reads from its descriptor 3 and writes to 4.
        above = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in (theirs_in, theirs_out)]
        actions = [(os.POSIX_SPAWN_DUP2, above[0], 3), (os.POSIX_SPAWN_DUP2, above[1], 4), (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0)]
        arguments = command(tmp_path, "--window-size=1200,900", "--remote-debugging-pipe")
        self._pid = os.posix_spawn(BROWSER, arguments, {**os.environ, "HOME": str(tmp_path)}, file_actions=actions)
        for fd in (theirs_in, theirs_out, *above):
            os.close(fd)
        self._timer = threading.Timer(120, os.kill, (self._pid, signal.SIGKILL))  # whoever waits for an answer then meets the end of the pipe
        self._timer.start()
        self._sent, self._read, self._session, self.told = 0, b"", None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def _message(self):
        while b"\0" not in self._read:
            more = os.read(self._from, 1 << 16)
            assert more, "the browser ended"
            self._read += more
        text, self._read = self._read.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self._sent += 1
        message = {"id": self._sent, "method": method, "params": params, **({"sessionId": self._session} if self._session else {})}
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while (answer := self._message()).get("id") != self._sent:
            self.told.append(answer)
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, path):
        self.call("Page.navigate", url=path if "://" in str(path) else f"file://{path}")
        while not any(m.get("method") == "Page.loadEventFired" for m in self.told):
            self.told.append(self._message())

    def complaints(self):
        return [m["params"] for m in self.told if m.get("method") in ("Runtime.exceptionThrown", "Log.entryAdded")]

    def value(self, expression):
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def corner(self, selector):
        return self.value(f"(r => [r.left, r.top, r.width, r.height])(document.querySelector('{selector}').getBoundingClientRect())")

    def middle(self, selector):
        x, y, width, height = self.corner(selector)
        return x + width / 2, y + height / 2

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, times=1):
        for n in range(1, times + 1):
            self.mouse("mousePressed", x, y, button="left", clickCount=n)
            self.mouse("mouseReleased", x, y, button="left", clickCount=n)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)["data"]))

    def keep(self, name):
        folder = pathlib.Path(os.environ.get("FACULA_TEST_PICTURES", "/nonexistent"))
        if folder.is_dir():
            self.picture(folder / name)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self._timer.cancel()
        os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)
        os.close(self._to), os.close(self._from)
