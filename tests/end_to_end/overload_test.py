#!/usr/bin/env python3
"""Five times more load than the cluster's capacity. For models with several shapes see shapes_overload_test.py.

    tests/end_to_end/overload_test.py build/release/troupe           what ctest runs
    tests/end_to_end/overload_test.py build/release/troupe --full    seven turns after a ramp, with the bounds of an idle machine
"""
import json

import cluster
from cluster import ClusterTest
from overload import PROFILE, SLO_MS, check_overload, overloaded

MODEL = f"""[[model]]
name = "slow"
slo_ms = {SLO_MS}
input_bytes = 16
output_bytes = 16
{PROFILE}"""
BODY = json.dumps({"inputs": [{"name": "input", "datatype": "UINT8", "shape": [1, 16], "data": [7] * 16}]})


class Overload(ClusterTest):
    def test_five_times_the_capacity(self):
        with overloaded(MODEL) as c:
            check_overload(self, c, c.start(), "slow", [BODY])


if __name__ == "__main__":
    cluster.main()
