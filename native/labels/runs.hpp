// How far one value goes on in memory. Most of an image is background: what is all the same is passed by at the speed
// of the memory.
#pragma once

#include <cstdint>
#include <cstring>

namespace segauge {

template <class T>
uint64_t broadcast(T value) {
  if constexpr (sizeof(T) == 1) return 0x0101010101010101ull * value;
  if constexpr (sizeof(T) == 2) return 0x0001000100010001ull * value;
  if constexpr (sizeof(T) == 4) return 0x0000000100000001ull * value;
  return value;
}

// Whether all items of a block hold the value.
template <class T>
struct RunBlock {
  static constexpr int64_t kBytes = 128, kItems = kBytes / static_cast<int64_t>(sizeof(T));
  typedef uint64_t Wide __attribute__((vector_size(16)));

  static bool holds(const T* items, uint64_t pattern) {
    Wide wide[kBytes / sizeof(Wide)], differs{};
    std::memcpy(wide, items, kBytes);
    for (const Wide& each : wide) differs |= each ^ pattern;
    return (differs[0] | differs[1]) == 0;
  }
};

// First position at or after `from` where the row no longer holds `value`, or `end`.
template <class T>
int64_t run_end(const T* row, int64_t from, int64_t end, T value) {
  using Block = RunBlock<T>;
  constexpr int64_t kItems = 8 / static_cast<int64_t>(sizeof(T));
  const uint64_t pattern = broadcast(value);
  int64_t x = from;
  while (x + Block::kItems <= end && Block::holds(row + x, pattern)) x += Block::kItems;
  for (uint64_t word; x + kItems <= end; x += kItems) {
    std::memcpy(&word, row + x, 8);
    if (word != pattern) break;
  }
  while (x < end && row[x] == value) ++x;
  return x;
}

// One past the last position before `end` where the row does not hold `value`, or `from`.
template <class T>
int64_t run_begin(const T* row, int64_t from, int64_t end, T value) {
  using Block = RunBlock<T>;
  const uint64_t pattern = broadcast(value);
  int64_t x = end;
  while (x - Block::kItems >= from && Block::holds(row + x - Block::kItems, pattern)) x -= Block::kItems;
  while (x > from && row[x - 1] == value) --x;
  return x;
}

}  // namespace segauge
