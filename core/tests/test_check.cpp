#include "harness.hpp"
#include "pegasos/check.hpp"
#include "toy.hpp"

namespace {

using namespace toy;

const double kNan = std::numeric_limits<double>::quiet_NaN();
const double kInfinity = std::numeric_limits<double>::infinity();

// Four rows, the second one without entries.
const Entries kGood = {{{0, 1.0}, {3, 2.0}}, {}, {{1, 3.0}, {2, 4.0}, {4, 5.0}}, {{4, 6.0}}};
constexpr int64_t kColumns = 5;

std::vector<Layout> float_layouts() {
  std::vector<Layout> layouts = layouts_of(Value::f32);
  for (const Layout& layout : layouts_of(Value::f64)) layouts.push_back(layout);
  return layouts;
}
std::vector<Layout> csr_layouts() {
  std::vector<Layout> layouts;
  for (const Layout& layout : all_layouts()) {
    if (layout.storage == Storage::csr) layouts.push_back(layout);
  }
  return layouts;
}

void check_finding(const Finding& found, Defect defect, int64_t row, int64_t column) {
  CHECK_EQUAL(static_cast<int>(found.defect), static_cast<int>(defect));
  CHECK_EQUAL(found.row, row);
  CHECK_EQUAL(found.column, column);
}

Finding check_all(const Layout& layout, const Entries& entries, double bias = 1.0) {
  const ToyRows data(layout, kColumns, entries, bias);
  std::vector<double> norms(entries.size());
  const Finding alone = check_rows(Rows(data.view), 0, data.view.n, norms.data(), 1);
  for (int64_t threads : {2, 3, 8}) {
    const Finding shared = check_rows(Rows(data.view), 0, data.view.n, norms.data(), threads);
    check_finding(shared, alone.defect, alone.row, alone.column);
  }
  return alone;
}

template <class I>
Finding check_ends(const std::vector<I>& indptr, int64_t stored) {
  RowsView view;
  view.storage = Storage::csr;
  view.index = sizeof(I) == 4 ? Index::i32 : Index::i64;
  view.indptr = indptr.data();
  view.n = static_cast<int64_t>(indptr.size()) - 1;
  view.d = kColumns;
  return check_indptr(view, stored);
}

template <class I>
void check_every_indptr() {
  check_finding(check_ends<I>({0}, 0), Defect::none, 0, 0);
  check_finding(check_ends<I>({0, 0, 0}, 0), Defect::none, 0, 0);
  check_finding(check_ends<I>({0, 2, 2, 5}, 5), Defect::none, 0, 0);
  check_finding(check_ends<I>({0, 2, 2, 5}, 9), Defect::none, 0, 0);  // spare values are fine
  check_finding(check_ends<I>({1, 2, 2, 5}, 5), Defect::indptr, 0, 0);
  check_finding(check_ends<I>({-1, 2, 2, 5}, 5), Defect::indptr, 0, 0);
  check_finding(check_ends<I>({0, 2, 1, 5}, 5), Defect::indptr, 1, 0);
  check_finding(check_ends<I>({0, 2, 2, 6}, 5), Defect::indptr, 2, 0);
  check_finding(check_ends<I>({0, -2, 2, 5}, 5), Defect::indptr, 0, 0);
  check_finding(check_ends<I>({0, 9, 2, 5}, 5), Defect::indptr, 0, 0);
  check_finding(check_ends<I>({0, std::numeric_limits<I>::max()}, 5), Defect::indptr, 0, 0);
  check_finding(check_ends<I>({0, 2, std::numeric_limits<I>::min()}, 5), Defect::indptr, 1, 0);
}

}  // namespace

TEST(good_rows_pass_and_get_their_squared_norms) {
  for (const Layout& layout : all_layouts()) {
    for (double bias : {0.0, 0.5}) {
      CONTEXT(to_string(layout));
      const ToyRows data(layout, kColumns, kGood, bias);
      std::vector<double> norms(4, -1.0);
      check_finding(check_indptr(data.view, 6), Defect::none, 0, 0);
      check_finding(check_rows(Rows(data.view), 1, 3, norms.data(), 1), Defect::none, 0, 0);
      CHECK_EQUAL(norms[0], -1.0);  // not asked for
      CHECK_EQUAL(norms[1], bias * bias);
      CHECK_EQUAL(norms[2], 50.0 + bias * bias);
      CHECK_EQUAL(norms[3], -1.0);
      check_finding(check_rows(Rows(data.view), 0, 4, norms.data(), 2), Defect::none, 0, 0);
      CHECK_EQUAL(norms[0], 5.0 + bias * bias);
      CHECK_EQUAL(norms[3], 36.0 + bias * bias);
    }
  }
}

TEST(rows_without_entries_are_fine) {
  for (const Layout& layout : all_layouts()) {
    check_finding(check_all(layout, {{}, {}, {}}), Defect::none, 0, 0);
    check_finding(check_all(layout, {{}, {}, {}}, 0.0), Defect::none, 0, 0);
  }
}

TEST(wrong_row_pointers_are_found) {
  check_every_indptr<std::int32_t>();
  check_every_indptr<std::int64_t>();
}

TEST(columns_out_of_range_are_found) {
  for (const Layout& layout : csr_layouts()) {
    for (int64_t column : {int64_t{-1}, kColumns, int64_t{1000000}, int64_t{-2147483648}}) {
      CONTEXT(to_string(layout) << ", column " << column);
      Entries entries = kGood;
      entries[2].push_back({column, 1.0});
      check_finding(check_all(layout, entries), Defect::column_range, 2, column);
      entries = kGood;
      entries[3][0].column = column;
      check_finding(check_all(layout, entries), Defect::column_range, 3, column);
    }
  }
}

TEST(columns_that_do_not_increase_are_found) {
  for (const Layout& layout : csr_layouts()) {
    CONTEXT(to_string(layout));
    Entries entries = kGood;
    entries[2][1].column = 1;  // twice
    check_finding(check_all(layout, entries), Defect::column_order, 2, 1);
    entries = kGood;
    entries[0][1].column = 0;
    check_finding(check_all(layout, entries), Defect::column_order, 0, 0);
    entries = kGood;
    entries[2][2].column = 0;  // back
    check_finding(check_all(layout, entries), Defect::column_order, 2, 0);
  }
}

TEST(the_order_starts_anew_in_each_row) {
  for (const Layout& layout : csr_layouts()) {
    check_finding(check_all(layout, {{{4, 1.0}}, {{0, 1.0}}, {{0, 1.0}}}), Defect::none, 0, 0);
  }
}

TEST(values_that_are_not_finite_are_found) {
  for (const Layout& layout : float_layouts()) {
    for (double bad : {kNan, kInfinity, -kInfinity}) {
      for (std::size_t row : {0u, 2u, 3u}) {
        for (std::size_t place = 0; place < kGood[row].size(); ++place) {
          CONTEXT(to_string(layout) << ", " << bad << " at " << row << ", " << place);
          Entries entries = kGood;
          entries[row][place].value = bad;
          check_finding(check_all(layout, entries), Defect::not_finite, static_cast<int64_t>(row),
                        entries[row][place].column);
        }
      }
    }
  }
}

TEST(the_first_bad_value_is_the_one_reported) {
  for (const Layout& layout : float_layouts()) {
    CONTEXT(to_string(layout));
    Entries entries = kGood;
    entries[2][1].value = kInfinity;
    entries[2][2].value = kNan;
    entries[3][0].value = kNan;
    check_finding(check_all(layout, entries), Defect::not_finite, 2, 2);
    const ToyRows data(layout, kColumns, entries, 0.0);
    std::vector<double> norms(4);
    check_finding(check_rows(Rows(data.view), 3, 4, norms.data(), 1), Defect::not_finite, 3, 4);
    check_finding(check_rows(Rows(data.view), 0, 2, norms.data(), 1), Defect::none, 0, 0);
  }
}

TEST(norms_beyond_float64_are_found_at_the_largest_value) {
  for (const Layout& layout : layouts_of(Value::f64)) {
    CONTEXT(to_string(layout));
    Entries entries = kGood;
    entries[2][1].value = -2e200;
    entries[2][2].value = 1e200;
    check_finding(check_all(layout, entries), Defect::norm_overflow, 2, 2);
    entries[2][1].value = 1.2e154;  // neither overflows alone
    entries[2][2].value = 1.3e154;
    check_finding(check_all(layout, entries), Defect::norm_overflow, 2, 4);
    entries[2][1].value = 1.0;
    check_finding(check_all(layout, entries), Defect::none, 0, 0);
    entries[2][1].value = 1e200;
    entries[2][2].value = kNan;  // worse than large
    check_finding(check_all(layout, entries), Defect::not_finite, 2, 4);
  }
}

TEST(a_constant_feature_beyond_float64_is_found_in_an_empty_row) {
  const ToyRows data({Storage::csr, Value::f64, Index::i32}, kColumns, {{}, {}}, 1e200);
  std::vector<double> norms(2);
  check_finding(check_rows(Rows(data.view), 1, 2, norms.data(), 1), Defect::norm_overflow, 1,
                kColumns);
}

TEST(the_largest_float32_is_fine) {
  for (const Layout& layout : layouts_of(Value::f32)) {
    Entries entries = kGood;
    for (Entry& entry : entries[2]) {
      entry.value = static_cast<double>(std::numeric_limits<float>::max());
    }
    check_finding(check_all(layout, entries), Defect::none, 0, 0);
  }
}
