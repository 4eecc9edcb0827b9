#include "dual_run.hpp"
#include "harness.hpp"
#include "pegasos/row_copies.hpp"

using namespace toy;

TEST(copies_of_rows_are_the_same_rows) {
  for (const Layout& layout : all_layouts()) {
    if (layout.storage != Storage::csr) continue;
    CONTEXT(to_string(layout));
    const ToyProblem problem({.layout = layout});
    const std::vector<double> w(problem.weights_size(), 0.5);
    RowCopies copies(problem.data.view, 1 << 20);
    const std::vector<std::uint32_t> list{17, 5, 30, 31, 0, 39};
    CHECK(copies.copy(list.data(), 6));
    CHECK_EQUAL(copies.rows().n(), 6);
    for (std::uint32_t row : list) {
      double here = 0.0;
      copies.rows().dot(copies.place(row), w.data(), 1, &here);
      double there = 1.0;
      problem.view.rows.dot(row, w.data(), 1, &there);
      CHECK_EQUAL(here, there);
    }
  }
}

TEST(columns_that_need_more_than_16_bits_are_kept_whole) {
  for (Index index : {Index::i32, Index::i64}) {
    for (std::int64_t d : {1 << 16, (1 << 16) + 1}) {
      CONTEXT("d " << d);
      const Layout layout{.index = index};
      const Entries entries{{{0, 1.0}, {d - 1, 2.0}}, {}, {{d - 1, 3.0}}};
      const ToyRows all(layout, d, entries, 0.0);
      std::vector<double> w(static_cast<std::size_t>(d + 1));
      w[0] = 10.0;
      w[static_cast<std::size_t>(d - 1)] = 100.0;
      RowCopies copies(all.view, 1 << 20);
      const std::vector<std::uint32_t> list{2, 0, 1};
      CHECK(copies.copy(list.data(), 3));
      CHECK_EQUAL(copies.rows().view().index == Index::u16, d == 1 << 16);
      for (const auto& [row, product] : {std::pair{0, 210.0}, {1, 0.0}, {2, 300.0}}) {
        double here = -1.0;
        copies.rows().dot(copies.place(static_cast<std::uint32_t>(row)), w.data(), 1, &here);
        CHECK_EQUAL(here, product);
      }
    }
  }
}

TEST(rows_are_copied_once_and_again_when_others_come) {
  const ToyProblem problem({});
  RowCopies copies(problem.data.view, 1 << 20);
  const std::vector<std::uint32_t> list{17, 5, 30, 31, 0, 39};
  CHECK(copies.copy(list.data(), 6));
  CHECK(copies.copy(list.data() + 2, 4));
  CHECK_EQUAL(copies.rows().n(), 6);
  CHECK(copies.copy(list.data() + 2, 3));
  CHECK_EQUAL(copies.rows().n(), 3);
  const std::vector<std::uint32_t> others{5, 6};
  CHECK(copies.copy(others.data(), 2));
  CHECK_EQUAL(copies.rows().n(), 2);
  CHECK_EQUAL(copies.place(6), 1U);
}

TEST(rows_too_many_to_copy_stay_where_they_are) {
  const ToyProblem problem({});
  RowCopies copies(problem.data.view, 200);
  std::vector<std::uint32_t> list(40);
  std::iota(list.begin(), list.end(), 0U);
  CHECK(!copies.copy(list.data(), 40));
  CHECK(copies.copy(list.data(), 1));
}

TEST(a_short_list_is_visited_in_copies_to_the_same_bits) {
  const ToyProblem problem({.n = 400, .d = 40, .weighted = true});
  for (bool free : {false, true}) {
    CONTEXT("free " << free);
    DualRun plain(problem, true);
    plain.set_second_order();
    if (free) plain.set_free();
    DualRun copied = plain;
    RowCopies copies(problem.data.view, 1 << 20);
    copied.copies = &copies;
    plain.epochs(40);
    copied.epochs(40);
    CHECK(copied.bytes() == plain.bytes());
    CHECK(copies.any());
    check_pausing(copied, copied.cursors[0].seen + 900, copied.cursors[0].seen);
  }
}
