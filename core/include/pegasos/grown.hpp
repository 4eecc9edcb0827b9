// An array that grows in place: large blocks are moved by the system, not copied.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <type_traits>
#include <utility>

namespace pegasos {

template <class T>
class Grown {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Grown() = default;
  Grown(Grown&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)),
        size_(std::exchange(other.size_, 0)),
        room_(std::exchange(other.room_, 0)) {}
  Grown& operator=(Grown&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(room_, other.room_);
    return *this;
  }
  ~Grown() { std::free(data_); }

  // Room for `count` more, not yet initialised; returns where they begin. `scale` says how many
  // times as long as it is then the array is expected to become.
  T* extend(int64_t count, double scale = 1.0) {
    if (size_ + count > room_) {
      const auto guess = static_cast<int64_t>(static_cast<double>(size_ + count) * scale);
      resize(std::max(guess, size_ + count + size_ / 2));
    }
    size_ += count;
    return data_ + size_ - count;
  }
  // Gives the array away, no larger than it is; free it with std::free.
  T* release() {
    if (size_ < room_) resize(size_);
    size_ = room_ = 0;
    return std::exchange(data_, nullptr);
  }
  int64_t size() const { return size_; }
  T* data() { return data_; }

 private:
  void resize(int64_t room) {
    const auto bytes = sizeof(T) * static_cast<std::size_t>(room > 0 ? room : 1);
    void* moved = std::realloc(data_, bytes);
    if (moved == nullptr) throw std::bad_alloc();
    data_ = static_cast<T*>(moved);
    room_ = room;
    in_large_pages(bytes);
  }
  // Touching memory for the first time is slow, page by page.
  void in_large_pages([[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
    constexpr std::uintptr_t page = 1 << 21;
    const auto begin = reinterpret_cast<std::uintptr_t>(data_);
    const std::uintptr_t first = (begin + page - 1) / page * page;
    const std::uintptr_t end = (begin + bytes) / page * page;
    if (end > first) madvise(reinterpret_cast<void*>(first), end - first, MADV_HUGEPAGE);
#endif
  }

  T* data_ = nullptr;
  int64_t size_ = 0, room_ = 0;
};

}  // namespace pegasos
