"""How botocore's adaptive mode gets on with a service that throttles, in virtual time.

Its own classes are asked; the service and the crowd are those of test/support/crowd.lua. Reads
{holds, refill, count, at_once, answer_takes, from, to} as a JSON list, prints for each {rate,
refused}: calls admitted a second and calls refused between `from` and `to`.
"""

import heapq
import itertools
import json
import sys
from botocore.exceptions import CapacityNotAvailableError
from botocore.retries.adaptive import ClientRateLimiter, RateClocker
from botocore.retries.bucket import TokenBucket
from botocore.retries.throttling import CubicCalculator


class Clock:
    now = 0.0

    def current_time(self):
        return self.now


class Detector:
    def is_throttling_error(self, throttled):
        return throttled


class Crowd:
    def __init__(self, case):
        self.case, self.clock = case, Clock()
        self.bucket = TokenBucket(max_rate=1, clock=self.clock)
        self.limiter = ClientRateLimiter(
            CubicCalculator(0, 0.0), RateClocker(self.clock), self.bucket, Detector(), self.clock
        )
        self.tokens, self.refilled = case["holds"], 0.0
        self.events, self.serial = [], itertools.count()
        self.waiting, self.under_way = case["count"], 0
        self.sleeping, self.log = False, []

    def at(self, time, what):
        heapq.heappush(self.events, (time, next(self.serial), what))

    def has_turn(self):
        if not self.limiter._enabled:
            return True
        try:
            return self.bucket.acquire(block=False)
        except CapacityNotAvailableError:
            if not self.sleeping:
                self.sleeping = True
                self.at(self.clock.now + max(1e-3, self.bucket._sleep_amount(1)), self.wake)
            return False

    def wake(self):
        self.sleeping = False

    def send(self):
        while self.waiting and self.under_way < self.case["at_once"] and self.has_turn():
            self.waiting -= 1
            self.under_way += 1
            self.at(self.clock.now + self.case["answer_takes"], self.answer)

    def answer(self):
        now = self.clock.now
        gained = (now - self.refilled) * self.case["refill"]
        self.tokens, self.refilled = min(self.case["holds"], self.tokens + gained), now
        admitted = self.tokens >= 1
        self.tokens -= admitted
        self.under_way -= 1
        self.log.append((now, admitted))
        self.limiter.on_receiving_response(throttled=not admitted)
        self.at(now if admitted else now + 1, self.want)

    def want(self):
        self.waiting += 1

    def run(self):
        self.send()
        while self.events and self.events[0][0] <= self.case["to"]:
            self.clock.now, _, what = heapq.heappop(self.events)
            what()
            self.send()
        seen = [good for time, good in self.log if time >= self.case["from"]]
        span = self.case["to"] - self.case["from"]
        return {"rate": sum(seen) / span, "refused": len(seen) - sum(seen)}


json.dump([Crowd(case).run() for case in json.load(sys.stdin)], sys.stdout)
