from penstock.runtime.timers.manual_clock import ManualClock


def test_the_clock_moves_when_it_is_moved() -> None:
    clock = ManualClock(now=5)
    assert clock() == clock() == 5
    clock.advance(3)
    assert clock() == 8
    clock.now = 1
    assert clock() == 1
