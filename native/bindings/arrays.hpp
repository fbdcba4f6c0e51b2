// NumPy arrays in and out of the kernel.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <vector>

#include "labels/packing.hpp"
#include "labels/pair_table.hpp"

namespace segauge {

namespace nb = nanobind;

using AnyArray = nb::ndarray<nb::ro, nb::device::cpu>;
template <class T>
using InputArray = nb::ndarray<const T, nb::c_contig, nb::device::cpu>;

// Hands a vector's memory to NumPy without a copy.
template <class T, class Allocator>
nb::ndarray<nb::numpy, T> to_numpy(std::vector<T, Allocator>&& values, std::initializer_list<size_t> shape) {
  using Values = std::vector<T, Allocator>;
  auto kept = std::make_unique<Values>(std::move(values));
  T* data = kept->data();
  nb::capsule owner(kept.release(), [](void* p) noexcept { delete static_cast<Values*>(p); });
  return nb::ndarray<nb::numpy, T>(data, shape, owner);
}

inline LabelView label_view(const AnyArray& array) {
  LabelView view;
  const auto dtype = array.dtype();
  const bool is_signed = dtype.code == static_cast<uint8_t>(nb::dlpack::dtype_code::Int);
  const bool is_unsigned = dtype.code == static_cast<uint8_t>(nb::dlpack::dtype_code::UInt);
  if (!(is_signed || is_unsigned) || dtype.lanes != 1) throw std::invalid_argument("labels must be integers");
  if (array.ndim() != 2 && array.ndim() != 3) throw std::invalid_argument("labels must be 2-D or 3-D");
  view.data = array.data();
  view.item_bytes = dtype.bits / 8;
  view.is_signed = is_signed;
  view.ndim = static_cast<int>(array.ndim());
  const size_t skip = 3 - array.ndim();
  for (size_t axis = 0; axis < array.ndim(); ++axis) {
    view.shape[axis + skip] = static_cast<int64_t>(array.shape(axis));
    view.stride[axis + skip] = array.stride(axis);
  }
  return view;
}

void bind_labels(nb::module_& m);
void bind_surface(nb::module_& m);
void bind_topology(nb::module_& m);
void bind_skeleton(nb::module_& m);
void bind_subvoxel(nb::module_& m);
void bind_summaries(nb::module_& m);

}  // namespace segauge
