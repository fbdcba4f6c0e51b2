// Memory for large arrays that outlives them: the system hands out fresh memory page by page and clears it, which takes
// longer than to write what comes into it. What one surface leaves, the next one takes.
#pragma once

#include <array>
#include <cstdlib>
#include <mutex>
#include <new>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace segauge {

class Arena {
 public:
  static constexpr size_t kFrom = size_t{64} << 10;  // bytes; what is smaller the allocator keeps itself

  static void* take(size_t bytes) {
    Block* block = kept().find(bytes);
    if (block == nullptr) block = fresh(bytes);
    return reinterpret_cast<char*>(block) + kHead;
  }
  static void give(void* memory) {
    auto* const block = reinterpret_cast<Block*>(static_cast<char*>(memory) - kHead);
    if (!kept().keep(block)) std::free(block);
  }

 private:
  static constexpr size_t kHead = 64;  // bytes before the memory that is handed out: a whole line of a cache
  static constexpr size_t kMostBytes = size_t{64} << 20, kMostBlocks = 32;  // that are kept
  // Where the system has pages of 2 MB, large arrays lie on these: it need not hand out 512 small ones one by one.
  static constexpr size_t kLargePage = size_t{2} << 20, kLargeFrom = 2 * kLargePage;
  struct Block {
    size_t bytes;  // all of it, with its head
  };
  static_assert(sizeof(Block) <= kHead);

  static Block* fresh(size_t bytes) {
    const bool is_large = bytes + kHead >= kLargeFrom;
    const size_t unit = is_large ? kLargePage : kFrom, whole = (bytes + kHead + unit - 1) / unit * unit;
#ifdef __linux__
    void* const memory = is_large ? std::aligned_alloc(kLargePage, whole) : std::malloc(whole);
    if (is_large && memory != nullptr) madvise(memory, whole, MADV_HUGEPAGE);  // advice that need not be taken
#else
    void* const memory = std::malloc(whole);
#endif
    if (memory == nullptr) throw std::bad_alloc();
    return ::new (memory) Block{whole};
  }

  // Lives as long as the process: arrays may be freed after everything else. The lock is never waited for, so a process
  // forked meanwhile cannot deadlock.
  static Arena& kept() {
    static auto* const all = new Arena;
    return *all;
  }

  // The smallest block that is large enough, but not more than twice; none if there is none.
  Block* find(size_t bytes) {
    const std::unique_lock<std::mutex> lock(guard_, std::try_to_lock);
    if (!lock.owns_lock()) return nullptr;
    size_t best = count_;
    for (size_t i = 0; i < count_; ++i) {
      const size_t size = blocks_[i]->bytes - kHead;
      if (size >= bytes && size / 2 <= bytes + kFrom && (best == count_ || size < blocks_[best]->bytes - kHead))
        best = i;
    }
    if (best == count_) return nullptr;
    Block* const found = blocks_[best];
    blocks_[best] = blocks_[--count_];
    bytes_ -= found->bytes;
    return found;
  }

  bool keep(Block* block) {
    const std::unique_lock<std::mutex> lock(guard_, std::try_to_lock);
    if (!lock.owns_lock() || count_ == kMostBlocks || bytes_ + block->bytes > kMostBytes) return false;
    blocks_[count_++] = block;
    bytes_ += block->bytes;
    return true;
  }

  std::mutex guard_;
  std::array<Block*, kMostBlocks> blocks_{};
  size_t count_ = 0, bytes_ = 0;
};

}  // namespace segauge
