from __future__ import annotations

import os
import subprocess
import sys

import psutil

from ixbench.testing.shell import MARK, Shell

ENGINE = """
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], env={}, stdout=subprocess.DEVNULL)
print(child.pid, flush=True)
time.sleep(600)
"""


def test_a_process_without_a_readable_environment_is_found_by_its_session(tmp_path):
    with Shell(folder=tmp_path) as shell:
        environment = os.environ | {MARK: shell.mark}
        engine = subprocess.Popen([sys.executable, "-c", ENGINE], env=environment, start_new_session=True, stdout=subprocess.PIPE)
        child = psutil.Process(int(engine.stdout.readline()))
        assert {process.pid for process in shell.processes()} == {engine.pid, child.pid}
        engine.kill()
        engine.communicate(timeout=10)
        assert [process.pid for process in shell.processes()] == [child.pid], "its session is remembered"
    child.wait(10)
    assert not child.is_running()
