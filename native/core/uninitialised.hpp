// Memory that is not zeroed before it is written: the pieces of a large surface fill a good part of a cache many times.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#include "core/arena.hpp"

namespace segauge {

template <class T>
struct UninitialisedAllocator {
  using value_type = T;

  UninitialisedAllocator() = default;
  template <class Other>
  UninitialisedAllocator(const UninitialisedAllocator<Other>&) {}

  T* allocate(size_t count) {
    if (count > static_cast<size_t>(-1) / 2 / sizeof(T)) throw std::bad_array_new_length();
    const size_t bytes = count * sizeof(T);
    if (bytes >= Arena::kFrom) return static_cast<T*>(Arena::take(bytes));
    void* const memory = std::malloc(bytes > 0 ? bytes : 1);
    if (memory == nullptr) throw std::bad_alloc();
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t count) {
    if (count * sizeof(T) >= Arena::kFrom) {
      Arena::give(memory);
    } else {
      std::free(memory);
    }
  }

  template <class Made>
  void construct(Made* place) {
    ::new (static_cast<void*>(place)) Made;
  }
  template <class Made, class... Arguments>
  void construct(Made* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) Made(std::forward<Arguments>(arguments)...);
  }

  bool operator==(const UninitialisedAllocator&) const { return true; }
  bool operator!=(const UninitialisedAllocator&) const { return false; }
};
template <class T>
using Uninitialised = std::vector<T, UninitialisedAllocator<T>>;

}  // namespace segauge
