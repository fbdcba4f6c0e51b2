// Label arrays as they come: any integer type, any strides.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <type_traits>

namespace segauge {

// A 2-D array is seen as one plane: shape[0] == 1.
struct LabelView {
  const void* data = nullptr;
  int item_bytes = 1;
  bool is_signed = false;
  int ndim = 3;
  std::array<int64_t, 3> shape{1, 1, 1};
  std::array<int64_t, 3> stride{0, 0, 0};  // in items; may be negative
};

// Axes ordered so that the last one walks through memory in the smallest steps.
inline std::array<int, 3> walking_order(const LabelView& view) {
  std::array<int, 3> order{0, 1, 2};
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const int64_t step_a = view.shape[a] == 1 ? INT64_MAX : std::abs(view.stride[a]);
    const int64_t step_b = view.shape[b] == 1 ? INT64_MAX : std::abs(view.stride[b]);
    return step_a > step_b;
  });
  return order;
}

// A raw item as the label that it stands for.
template <class T>
inline int64_t label_value(T raw, bool is_signed) {
  return is_signed ? static_cast<int64_t>(static_cast<std::make_signed_t<T>>(raw)) : static_cast<int64_t>(raw);
}

}  // namespace segauge
