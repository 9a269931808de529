#!/usr/bin/python3
"""The judge of a soak: what stays flat passes, also with noise, and what grows is found, in each of its measures.

A run here takes an hour, with a sample every ten seconds of three processes and a member of etcd.
"""
import random
import unittest

import flatness
import history
import invariants
from by_hand import SECOND, at, whole

HOUR, BEGIN, EVERY = 3600, 1000, 10
NAMES = ("kv n1", "batond n1", "writer")
FLAT = (25_000, 30, 25)  # KiB, descriptors, threads


def series(*, minutes=60, names=NAMES, grow=lambda seconds: (0, 0, 0), noise=None):
    """Samples of so many minutes; `grow`: what batond n1 holds beyond FLAT after so many seconds."""
    samples = []
    for second in range(0, minutes * 60 + 1, EVERY):
        processes = {}
        for name in (*names, "etcd e1"):
            more = grow(second) if name == "batond n1" else (0, 0, 0)
            figures = [flat + added + (noise() if noise else 0) for flat, added in zip(FLAT, more)]
            processes[name] = [*figures, second * 0.02]
        processes["etcd e1"] = [50_000 + 100 * second, 30 + second, 12 + second, second * 0.1]
        samples.append({"at": at(BEGIN + second), "processes": processes,
                        "etcd": {"revision": 8 * second + 1, "bytes": 2**20, "term": 2}})
    return samples


def said(samples, minutes=60):
    return list(flatness.growths(samples, at(BEGIN), at(BEGIN + minutes * 60)))


class Growth(unittest.TestCase):
    def assertGrew(self, samples, *texts, minutes=60):
        found = said(samples, minutes)
        self.assertEqual(len(found), len(texts), found)
        for line, text in zip(found, texts):
            self.assertIn("batond n1 went from", line)
            self.assertIn(text, line)

    def test_what_is_flat(self):
        self.assertEqual(said(series()), [])

    def test_noise(self):
        generator = random.Random(7)
        self.assertEqual(said(series(noise=lambda: generator.randrange(-3, 4))), [])

    def test_noise_of_memory(self):
        generator = random.Random(7)
        self.assertEqual(said(series(grow=lambda _: (generator.randrange(-1500, 1500), 0, 0))), [])

    def test_growth_that_ends_while_it_is_warm(self):
        self.assertEqual(said(series(grow=lambda seconds: (min(seconds, 590) * 10, min(seconds, 590) // 10, 0))), [])

    def test_spikes(self):
        self.assertEqual(said(series(grow=lambda seconds: (20_000, 100, 50) if seconds % 300 == 0 else (0, 0, 0))), [])

    def test_a_member_of_etcd_is_not_judged(self):
        self.assertEqual(said(series(names=("writer",))), [])

    def test_memory(self):
        self.assertGrew(series(grow=lambda seconds: (seconds, 0, 0)),  # 1 KiB a second
                        "KiB resident; 1542 more", "KiB resident since the middle; 392 more")

    def test_memory_that_grows_slowly(self):
        """20 KiB a minute."""
        self.assertGrew(series(grow=lambda seconds: (seconds // 3, 0, 0)), "KiB resident since the middle")

    def test_memory_by_steps(self):
        self.assertGrew(series(grow=lambda seconds: (2048 * (seconds // 1000), 0, 0)), "resident; ", "resident since the middle")

    def test_memory_that_grows_only_in_the_end(self):
        self.assertGrew(series(grow=lambda seconds: (3000 if seconds > 3200 else 0, 0, 0)), "resident; ",
                        "resident since the middle")

    def test_memory_that_grows_too_much_before_the_middle(self):
        self.assertGrew(series(grow=lambda seconds: (min(seconds, 1800) * 2, 0, 0)), "KiB resident; ")

    def test_memory_that_grows_less_and_less(self):
        self.assertEqual(said(series(grow=lambda seconds: (1500 * (1 - 0.5**(seconds / 600)), 0, 0))), [])

    def test_memory_of_a_short_run_is_not_judged(self):
        self.assertEqual(said(series(minutes=10, grow=lambda seconds: (100 * seconds, 0, 0)), 10), [])

    def test_descriptors(self):
        self.assertGrew(series(grow=lambda seconds: (0, seconds // 300, 0)), "from 33 to 41 descriptors; 4 more are allowed")

    def test_threads(self):
        self.assertGrew(series(grow=lambda seconds: (0, 0, seconds // 600)), "from 26 to 30 threads; 2 more are allowed")

    def test_descriptors_of_a_short_run(self):
        self.assertGrew(series(minutes=5, grow=lambda seconds: (0, seconds // 20, 0)), "descriptors", minutes=5)

    def test_the_table(self):
        windows = flatness.Windows.of(at(BEGIN), at(BEGIN + HOUR))
        held = {one.process: one for one in flatness.all_held(series(grow=lambda seconds: (seconds, 0, 0)), windows)}
        self.assertEqual(held["batond n1"], flatness.Held(
            "batond n1", [25_900, 30, 25], [27_100, 30, 25], [28_300, 30, 25], [28_600, 30, 25], held["batond n1"].cpu))
        self.assertAlmostEqual(held["batond n1"].cpu[0], 0.02)
        self.assertEqual(sorted(held), ["batond n1", "etcd e1", "kv n1", "writer"])


class Windows(unittest.TestCase):
    def windows(self, minutes):
        windows = flatness.Windows.of(0, at(60 * minutes))
        return [bound / SECOND for bound in (*windows.first, *windows.middle, *windows.last)]

    def test_of_an_hour(self):
        self.assertEqual(self.windows(60), [600, 1200, 1800, 2400, 3000, 3600])

    def test_warm_up_takes_two_minutes(self):
        self.assertEqual(self.windows(6), [120, 180, 180, 240, 300, 360])

    def test_of_a_minute(self):
        self.assertEqual(self.windows(1), [20, 30, 30, 40, 50, 60])


class Run(unittest.TestCase):
    """Of a whole run: what came of it beside the invariants. Operators made a move of each group a second for so long."""

    def made(self, seconds=HOUR, moves=HOUR):
        made = whole()
        run = made.parts["run"]
        run["begin"], run["end"] = at(BEGIN), at(BEGIN + seconds)
        run["nodes"], run["moves"] = 1, {"0": 2 * moves}
        run["options"]["case"], run["options"]["remembered"] = "soak", 100
        for second in range(moves):
            for group, session in (("kv", 102), ("plain", 202)):
                made.commit(BEGIN + second, made.record(group, 1, "n2", session, "operator"))
        made.parts["footprints"] = series()
        made.parts["writes"] = [line for line in made.parts["writes"] if line["code"] == 0]
        made.write(BEGIN + 1, "c1-1", "a", 1)
        made.write(BEGIN + 1, "insister-9", "a", code=9)
        return made

    def judged(self, made):
        past = history.History(made.parts)
        replay = invariants.Replay(past)
        return ([text for _, text in flatness.violations(past, replay)], list(flatness.invalid(past, replay)),
                dict(flatness.summary(past, replay)), list(flatness.table(past)))

    def test_a_flat_one(self):
        broken, reasons, figures, rows = self.judged(self.made())
        self.assertEqual((broken, reasons), ([], []))
        self.assertEqual(figures["operators' moves of kv, of plain"], "3600, 3600")
        self.assertEqual(figures["revisions of etcd a second"], "8.0")
        self.assertEqual(len(rows), 2 + 4)

    def test_too_few_moves(self):
        _, reasons, _, _ = self.judged(self.made(moves=2800))
        self.assertEqual([reason.split(",")[0] for reason in reasons],
                         ["2800 moves of kv in 3600 s", "2800 moves of plain in 3600 s"])

    def test_histories_that_were_not_full(self):
        made = self.made()
        made.parts["run"]["options"]["remembered"] = 1000
        _, reasons, _, _ = self.judged(made)
        self.assertIn("histories were not full yet", "\n".join(reasons))

    def test_a_failed_request(self):
        made = self.made()
        made.write(BEGIN + 2, "c1-2", "a", code=14)
        self.assertIn("request c1-2 failed", "\n".join(self.judged(made)[0]))

    def test_a_lease_that_ran_out(self):
        made = self.made()
        made.commit(BEGIN + 3, made.record("kv", 1, "n3", 103, "lease_expired"))
        self.assertEqual(self.judged(made)[0], ["a leadership of kv changed unplanned: lease_expired"])

    def test_a_process_that_was_not_looked_at(self):
        made = self.made()
        made.parts["footprints"] = series(names=NAMES[:2])
        self.assertIn("2 processes were sampled 5 times in each sixth, of 3", "\n".join(self.judged(made)[1]))


if __name__ == "__main__":
    unittest.main()
