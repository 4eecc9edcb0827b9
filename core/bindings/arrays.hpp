// NumPy arrays as the core takes them: never converted, never copied.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <stdexcept>
#include <string>

namespace binding {

namespace nb = nanobind;

// Read-only and writable C-contiguous arrays; `Axes` names the shape, e.g. nb::ndim<2>.
template <class T, class... Axes>
using In = nb::ndarray<const T, Axes..., nb::c_contig, nb::device::cpu>;
template <class T, class... Axes>
using Out = nb::ndarray<T, Axes..., nb::c_contig, nb::device::cpu>;

template <class T>
using Vector = Out<T, nb::ndim<1>>;
template <class T>
using Matrix = Out<T, nb::ndim<2>>;

template <class Array>
auto checked(const char* name, const Array& array, std::initializer_list<std::int64_t> shape) {
  bool same = array.ndim() == shape.size();
  std::size_t axis = 0;
  for (std::int64_t size : shape) {
    same = same && static_cast<std::int64_t>(array.shape(axis++)) == size;
  }
  if (!same) throw std::invalid_argument(std::string(name) + " has the wrong shape");
  return array.data();
}

template <class Array>
auto checked_or_null(const char* name, const std::optional<Array>& array,
                     std::initializer_list<std::int64_t> shape) -> decltype(array->data()) {
  return array ? checked(name, *array, shape) : nullptr;
}

void bind_rows(nb::module_& m);
void bind_solvers(nb::module_& m);
void bind_certificate(nb::module_& m);
void bind_interior(nb::module_& m);
void bind_newton(nb::module_& m);
void bind_crammer_singer(nb::module_& m);
void bind_svmlight(nb::module_& m);
void bind_mercer(nb::module_& m);
void bind_smo(nb::module_& m);
void bind_dual(nb::module_& m);
void bind_cholesky(nb::module_& m);

}  // namespace binding
