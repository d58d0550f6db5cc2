"""A Spark Connect server of our own on the loopback, in a folder of its own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from time import sleep

import pyspark

HOME = Path(pyspark.__file__).parent
SERVER = "org.apache.spark.sql.connect.service.SparkConnectServer"
SETTINGS = {
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.sql.shuffle.partitions": "1",
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
}
SECONDS = 300


@contextmanager
def connecting() -> Iterator[str]:
    """The address of a server, to be ended by #table."""
    folder = Path(tempfile.mkdtemp(prefix="obverse-spark-", dir="/tmp"))
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    settings = {
        **SETTINGS,
        "spark.connect.grpc.binding.port": port,
        "spark.sql.warehouse.dir": folder / "held",
    }
    chosen = [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    command = [
        str(HOME / "bin/spark-submit"),
        "--master",
        "local[2]",
        "--class",
        SERVER,
        *chosen,
        "spark-internal",
    ]
    quick = {**os.environ, "SPARK_HOME": str(HOME), "JAVA_TOOL_OPTIONS": "-XX:TieredStopAtLevel=1"}
    with (folder / "log").open("wb") as log:
        running = subprocess.Popen(command, cwd=folder, env=quick, stdout=log, stderr=log)
    try:
        assert any(_answers(port) for _ in range(SECONDS)), (folder / "log").read_text()[-2000:]
        yield f"spark+sc://127.0.0.1:{port}"
    finally:
        running.terminate()
        running.wait()
        shutil.rmtree(folder)


def _answers(port: int) -> bool:
    with closing(socket.socket()) as attempt:
        if attempt.connect_ex(("127.0.0.1", port)) == 0:
            return True
    sleep(1)
    return False
