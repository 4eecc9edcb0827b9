#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "pegasos/svmlight.hpp"
#include "pegasos/svmlight_text.hpp"

namespace binding {
namespace {

using namespace pegasos;
using Text = nb::ndarray<const std::uint8_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Place = std::tuple<std::int64_t, std::int64_t, std::string>;  // line, column, what

Place place_of(const SvmlightError& error) { return {error.line, error.column, error.what}; }

// The array becomes NumPy's.
template <class T>
nb::object given_away(Grown<T>& array) {
  const auto size = static_cast<std::size_t>(array.size());
  auto pages = std::make_unique<Pages>(array.release());
  T* const data = static_cast<T*>(pages->data());
  nb::capsule owner(pages.get(), [](void* held) noexcept { delete static_cast<Pages*>(held); });
  pages.release();
  return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(data, {size}, owner));
}

nb::tuple take(SvmlightParser& parser) {
  SvmlightRows rows = parser.take();
  return nb::make_tuple(given_away(rows.labels), given_away(rows.label_ends), given_away(rows.ends),
                        parser.wide() ? given_away(rows.wide_indices) : given_away(rows.indices),
                        parser.single() ? given_away(rows.single_values) : given_away(rows.values),
                        given_away(rows.queries));
}

template <class T>
using Numbers = In<T, nb::ndim<1>>;

template <class Index, class Value>
nb::bytes text_of(const Numbers<double>& labels,
                  const std::optional<Numbers<std::int64_t>>& label_ends,
                  const std::optional<Numbers<std::int64_t>>& queries,
                  const Numbers<std::int64_t>& ends, const Numbers<Index>& indices,
                  const Numbers<Value>& values, std::int64_t first_index) {
  const auto n = static_cast<std::int64_t>(ends.shape(0));
  const auto count = static_cast<std::int64_t>(values.shape(0));
  SvmlightText rows{};
  rows.n = n;
  rows.ends = ends.data();
  rows.label_ends = checked_or_null("label_ends", label_ends, {n});
  rows.queries = checked_or_null("queries", queries, {n});
  rows.labels =
      checked("labels", labels, {label_ends ? static_cast<std::int64_t>(labels.shape(0)) : n});
  const auto checked_ends = [n](const std::int64_t* at, std::int64_t last) {
    for (std::int64_t i = 0; i < n; ++i) {
      if (at[i] < (i == 0 ? 0 : at[i - 1]) || at[i] > last) {
        throw std::invalid_argument("ends out of range");
      }
    }
  };
  checked_ends(rows.ends, count);
  if (rows.label_ends != nullptr) {
    checked_ends(rows.label_ends, static_cast<std::int64_t>(labels.shape(0)));
  }
  const Index* index = checked("indices", indices, {count});
  if constexpr (sizeof(Index) == 4) {
    rows.indices = index;
  } else {
    rows.wide_indices = index;
  }
  if constexpr (sizeof(Value) == 4) {
    rows.single_values = values.data();
  } else {
    rows.values = values.data();
  }
  rows.first_index = first_index;
  std::string text;
  {
    nb::gil_scoped_release release;
    text = svmlight_text(rows);
  }
  return nb::bytes(text.data(), text.size());
}

template <class Index, class Value>
void bind_text(nb::module_& m) {
  m.def("svmlight_text", &text_of<Index, Value>, nb::kw_only(), nb::arg("labels").noconvert(),
        nb::arg("label_ends").noconvert().none(), nb::arg("queries").noconvert().none(),
        nb::arg("ends").noconvert(), nb::arg("indices").noconvert(), nb::arg("values").noconvert(),
        nb::arg("first_index"), "Rows as svmlight text.");
}

}  // namespace

void bind_svmlight(nb::module_& m) {
  nb::class_<SvmlightParser>(m, "SvmlightParser", "Parses svmlight text, block by block.")
      .def(
          "__init__",
          [](SvmlightParser* self, std::int64_t first_index, std::int64_t features,
             std::int64_t most_features, bool multilabel, bool skip_bad_lines, bool single) {
            constexpr std::int64_t most = std::int64_t{1} << 62;
            if (first_index < 0 || first_index > 1 || features < 0 || features > most ||
                most_features < 1 || most_features > most) {
              throw std::invalid_argument("options out of range");
            }
            new (self) SvmlightParser(
                {first_index, features, most_features, multilabel, skip_bad_lines, single});
          },
          nb::kw_only(), nb::arg("first_index"), nb::arg("features"), nb::arg("most_features"),
          nb::arg("multilabel"), nb::arg("skip_bad_lines"), nb::arg("single"))
      .def(
          "feed",
          [](SvmlightParser& self, const Text& text, bool last, std::int64_t threads) {
            nb::gil_scoped_release release;
            return self.feed(reinterpret_cast<const char*>(text.data()), text.shape(0), last,
                             threads);
          },
          nb::arg("text").noconvert(), nb::kw_only(), nb::arg("last"), nb::arg("threads"),
          "Parse the whole lines of the text; returns how many bytes that was.")
      .def("expect", &SvmlightParser::expect, nb::arg("bytes"),
           "Say how many bytes of text will come in all.")
      .def("take", &take,
           "(labels, label_ends, ends, indices, values, queries) parsed since the last call.")
      .def_prop_ro("error",
                   [](const SvmlightParser& self) -> std::optional<Place> {
                     if (!self.error()) return std::nullopt;
                     return place_of(*self.error());
                   })
      .def_prop_ro("bad_lines",
                   [](const SvmlightParser& self) {
                     std::vector<Place> places;
                     for (const auto& bad : self.bad_lines()) places.push_back(place_of(bad));
                     return places;
                   })
      .def_prop_ro("bad_count", &SvmlightParser::bad_count)
      .def_prop_ro("smallest_index", &SvmlightParser::smallest_index)
      .def_prop_ro("largest_index", &SvmlightParser::largest_index);
  bind_text<std::int32_t, float>(m);
  bind_text<std::int32_t, double>(m);
  bind_text<std::int64_t, float>(m);
  bind_text<std::int64_t, double>(m);
}

}  // namespace binding
