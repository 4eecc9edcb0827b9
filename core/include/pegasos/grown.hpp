// An array that grows without being copied: the system moves its pages, not its bytes.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>
#include <utility>

namespace pegasos {

// Memory by the page; what is not touched takes none.
class Pages {
 public:
  Pages() = default;
  Pages(Pages&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Pages& operator=(Pages&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~Pages() {
    if (bytes_ > 0) munmap(data_, bytes_);
  }
  void* data() const { return data_; }

  // Throws std::bad_alloc; what was there stays, as far as there is room.
  void resize(std::size_t bytes) {
    bytes = (bytes + kPage - 1) / kPage * kPage;
    if (bytes == bytes_) return;
    void* moved = bytes == 0 ? nullptr : moved_to(bytes);
    if (moved == MAP_FAILED) throw std::bad_alloc();
    if (bytes == 0) munmap(data_, bytes_);
    data_ = moved;
    bytes_ = bytes;
    in_large_pages();
  }

 private:
  static constexpr std::size_t kPage = 1 << 12, kLargePage = 1 << 21;

  static void* fresh(std::size_t bytes) {
    return mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  }
  void* moved_to(std::size_t bytes) {
    if (bytes_ == 0) return fresh(bytes);
#ifdef __linux__
    return mremap(data_, bytes_, bytes, MREMAP_MAYMOVE);
#else
    void* const moved = fresh(bytes);
    if (moved == MAP_FAILED) return moved;
    std::memcpy(moved, data_, std::min(bytes, bytes_));
    munmap(data_, bytes_);
    return moved;
#endif
  }
  // Touching memory for the first time is slow, page by page.
  void in_large_pages() {
#ifdef MADV_HUGEPAGE
    if (bytes_ >= 4 * kLargePage) madvise(data_, bytes_, MADV_HUGEPAGE);
#endif
  }

  void* data_ = nullptr;
  std::size_t bytes_ = 0;
};

template <class T>
class Grown {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  // Room for `count` more, not yet initialised; returns where they begin. `scale` says how many
  // times as long as it is then the array is expected to become.
  T* extend(int64_t count, double scale = 1.0) {
    if (size_ + count > room_) {
      const auto guess = static_cast<int64_t>(static_cast<double>(size_ + count) * scale);
      room_ = std::max(guess, size_ + count + size_ / 2);
      pages_.resize(sizeof(T) * static_cast<std::size_t>(room_));
    }
    size_ += count;
    return data() + size_ - count;
  }
  // Gives the memory away, no larger than it need be.
  Pages release() {
    pages_.resize(sizeof(T) * static_cast<std::size_t>(size_));
    size_ = room_ = 0;
    return std::move(pages_);
  }
  int64_t size() const { return size_; }
  T* data() { return static_cast<T*>(pages_.data()); }

 private:
  Pages pages_;
  int64_t size_ = 0, room_ = 0;
};

}  // namespace pegasos
