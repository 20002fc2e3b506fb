"""A page in headless Chromium, driven over the pipe of its DevTools protocol. Standard library only."""
import base64
import json
import os
import select
import shutil
import subprocess
import tempfile
import time

from processes import PATIENCE

CHROMIUM = shutil.which("chromium")


class Browser:
    """One page. A context manager."""

    def __init__(self, url, width=1280, height=800):
        assert CHROMIUM, "there is no chromium: tools/install brings it"
        self.folder = tempfile.TemporaryDirectory(prefix="troupe-browser-", ignore_cleanup_errors=True)
        to_read, self.to_browser = os.pipe()
        self.from_browser, to_write = os.pipe()

        def as_three_and_four():  # the pipe's file descriptors for Chromium; the copies avoid overwriting one with the other
            a, b = os.dup(to_read), os.dup(to_write)
            high_a, high_b = os.dup2(a, 60), os.dup2(b, 61)
            os.dup2(high_a, 3)
            os.dup2(high_b, 4)
        self.process = subprocess.Popen(
            [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             f"--user-data-dir={self.folder.name}", "--remote-debugging-pipe", f"--window-size={width},{height}"],
            preexec_fn=as_three_and_four, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(to_write)
        self.last, self.unread, self.session = 0, b"", None
        page = self.order("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.order("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        self.order("Page.enable")
        self.order("Page.navigate", url=url)

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.process.kill()
        self.process.wait()
        os.close(self.to_browser)
        os.close(self.from_browser)
        self.folder.cleanup()

    def order(self, method, **parameters):
        """The browser's answer to a command; skips events in between."""
        self.last += 1
        message = {"id": self.last, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to_browser, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while True:
            answer = self.next_message(end)
            if answer.get("id") == self.last:
                assert "result" in answer, answer
                return answer["result"]

    def next_message(self, end):
        while b"\0" not in self.unread:
            ready, _, _ = select.select([self.from_browser], [], [], max(0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            more = os.read(self.from_browser, 1 << 16)
            assert more, "the browser ended"
            self.unread += more
        message, self.unread = self.unread.split(b"\0", 1)
        return json.loads(message)

    def value(self, script):
        """The value of an expression in the page."""
        got = self.order("Runtime.evaluate", expression=script, returnByValue=True)
        assert "exceptionDetails" not in got, got
        return got["result"].get("value")

    def wait_for(self, script):
        """Waits until the expression is true, and throws nothing (the page may still be loading); returns its
        value."""
        end = time.monotonic() + PATIENCE
        while not (value := self.value(f"(() => {{ try {{ return {script}; }} catch {{ return null; }} }})()")):
            assert time.monotonic() < end, f"never true: {script}\n{self.value('document.body.innerText')}"
            time.sleep(0.1)
        return value

    def screenshot(self, path):
        path.write_bytes(base64.b64decode(self.order("Page.captureScreenshot", format="png")["data"]))
