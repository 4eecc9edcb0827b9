#include "dual_run.hpp"
#include "harness.hpp"
#include "pegasos/near_rows.hpp"

using namespace toy;

TEST(rows_that_are_near_are_the_same_rows) {
  for (const Layout& layout : all_layouts()) {
    if (layout.storage != Storage::csr) continue;
    CONTEXT(to_string(layout));
    const ToyProblem problem({.layout = layout});
    const std::vector<double> w(problem.weights_size(), 0.5);
    NearRows near(problem.data.view, 1 << 20);
    const std::vector<std::uint32_t> list{17, 5, 30, 31, 0, 39};
    CHECK(near.bring(list.data(), 6));
    CHECK_EQUAL(near.rows().n(), 6);
    for (std::uint32_t row : list) {
      double here = 0.0;
      near.rows().dot(near.place(row), w.data(), 1, &here);
      double there = 1.0;
      problem.view.rows.dot(row, w.data(), 1, &there);
      CHECK_EQUAL(here, there);
    }
  }
}

TEST(rows_are_copied_once_and_again_when_others_come) {
  const ToyProblem problem({});
  NearRows near(problem.data.view, 1 << 20);
  const std::vector<std::uint32_t> list{17, 5, 30, 31, 0, 39};
  CHECK(near.bring(list.data(), 6));
  CHECK(near.bring(list.data() + 2, 4));
  CHECK_EQUAL(near.rows().n(), 6);
  CHECK(near.bring(list.data() + 2, 3));
  CHECK_EQUAL(near.rows().n(), 3);
  const std::vector<std::uint32_t> others{5, 6};
  CHECK(near.bring(others.data(), 2));
  CHECK_EQUAL(near.rows().n(), 2);
  CHECK_EQUAL(near.place(6), 1U);
}

TEST(rows_too_many_to_copy_stay_where_they_are) {
  const ToyProblem problem({});
  NearRows near(problem.data.view, 200);
  std::vector<std::uint32_t> list(40);
  std::iota(list.begin(), list.end(), 0U);
  CHECK(!near.bring(list.data(), 40));
  CHECK(near.bring(list.data(), 1));
}

TEST(a_short_list_is_visited_in_copies_to_the_same_bits) {
  const ToyProblem problem({.n = 400, .d = 40, .weighted = true});
  for (bool free : {false, true}) {
    CONTEXT("free " << free);
    DualRun plain(problem, true);
    plain.set_second_order();
    if (free) plain.set_free();
    DualRun copied = plain;
    NearRows near(problem.data.view, 1 << 20);
    copied.near = &near;
    plain.epochs(40);
    copied.epochs(40);
    CHECK(copied.bytes() == plain.bytes());
    CHECK(near.any());
    check_pausing(copied, copied.cursors[0].seen + 900, copied.cursors[0].seen);
  }
}
