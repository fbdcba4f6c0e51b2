// Memory that is not zeroed before it is written: the pieces of a large surface fill a good part of a cache many times.
#pragma once

#include <cstdlib>
#include <memory>
#include <new>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace segauge {

// Where the system has pages of 2 MB, large arrays lie on these: it hands out 512 small ones one by one, which takes
// longer than to write what comes into them.
struct LargePages {
  static constexpr size_t kSize = size_t{2} << 20, kFrom = 2 * kSize;

  static void* allocate(size_t bytes) {
#ifdef __linux__
    if (bytes >= kFrom) {
      const size_t whole = (bytes + kSize - 1) / kSize * kSize;
      void* const memory = std::aligned_alloc(kSize, whole);
      if (memory == nullptr) throw std::bad_alloc();
      madvise(memory, whole, MADV_HUGEPAGE);  // advice that need not be taken
      return memory;
    }
#endif
    void* const memory = std::malloc(bytes > 0 ? bytes : 1);
    if (memory == nullptr) throw std::bad_alloc();
    return memory;
  }
};

template <class T>
struct Unset {
  using value_type = T;

  Unset() = default;
  template <class Other>
  Unset(const Unset<Other>&) {}

  T* allocate(size_t count) {
    if (count > static_cast<size_t>(-1) / 2 / sizeof(T)) throw std::bad_array_new_length();
    return static_cast<T*>(LargePages::allocate(count * sizeof(T)));
  }
  void deallocate(T* memory, size_t) { std::free(memory); }

  template <class Made>
  void construct(Made* place) {
    ::new (static_cast<void*>(place)) Made;
  }
  template <class Made, class... Arguments>
  void construct(Made* place, Arguments&&... arguments) {
    ::new (static_cast<void*>(place)) Made(std::forward<Arguments>(arguments)...);
  }

  bool operator==(const Unset&) const { return true; }
  bool operator!=(const Unset&) const { return false; }
};
template <class T>
using Unzeroed = std::vector<T, Unset<T>>;

}  // namespace segauge
