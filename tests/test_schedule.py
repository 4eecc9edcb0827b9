"""Schedule: when certificates are due."""

from pegasos.run.schedule import Schedule


def dues(schedule, epochs, n=100):
    """Epochs at which a certificate is due, each of them taken."""
    out = []
    for epoch in range(1, epochs + 1):
        if schedule.due(epoch * n):
            out.append(epoch)
            schedule.certified(epoch * n)
    return out


def test_certificates_are_due_ever_more_rarely():
    assert dues(Schedule(100, None), 70) == [1, 4, 16, 64]


def test_every_so_many_epochs_if_asked():
    assert dues(Schedule(100, 3), 10) == [3, 6, 9]
    assert dues(Schedule(100, 3, quick=10_000), 10) == [3, 6, 9]


def test_quick_rows_are_not_certified():
    assert dues(Schedule(100, None, quick=950), 50) == [10, 40]


def test_without_estimates_quick_rows_are():
    schedule = Schedule(100, None, quick=950)
    schedule.without_estimates()
    assert dues(schedule, 10) == [1, 2, 3, 4, 5, 6, 7, 8, 10]


def test_a_postponed_certificate_is_due_at_the_next_turn():
    schedule = Schedule(100, None)
    assert schedule.due(100)
    schedule.postpone(100)
    assert next(epoch for epoch in range(1, 20) if schedule.due(100 * epoch)) == 4


def test_every_epoch_is_a_stop():
    schedule = Schedule(100, None, quick=950)
    assert schedule.next_stop == 100
    schedule.due(100)
    assert schedule.next_stop == 200


def test_a_solver_that_stops_by_itself_is_looked_at_rarely():
    schedule = Schedule(100, None, quick=950, apart=8)
    assert schedule.next_stop == 800
    assert not schedule.due(800)
    assert schedule.next_stop == 1000  # a certificate is due
    schedule.due(150)  # it stopped: the next stop is counted from there
    assert schedule.next_stop == 900
