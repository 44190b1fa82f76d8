// Makes, drops and poisons holds.
#include "runtime/torch/hold.h"

#include <utility>
#include <vector>

#include "runtime/torch/library.h"

namespace graphtree::torch_adaptor {
namespace {

DropListener drop_listener = nullptr;

std::string StaleText(const std::string& where, const std::string& by) {
  return "Error: accessing tensor output of CUDAGraphs that has been overwritten by a subsequent "
         "run. Stack trace: " + where + ". To prevent overwriting, clone the tensor outside of "
         "torch.compile() or call torch.compiler.cudagraph_mark_step_begin() before each model "
         "invocation. (Graphtree: the step in which it was made ended when '" + by +
         "' was called; a clone made before that call keeps the values.)";
}

}  // namespace

void SetDropListener(DropListener listener) { drop_listener = listener; }

Hold::Hold(std::shared_ptr<HoldList> list, gt_storage storage)
    : list_(std::move(list)), storage_(storage),
      torch_storage_(c10::intrusive_ptr<c10::StorageImpl>()) {}

Hold::~Hold() { Ignore(Gt().gt_release(storage_)); }

c10::DataPtr Hold::Make(std::shared_ptr<HoldList> list, gt_storage storage, void* address,
                        c10::Device device) {
  auto hold = std::unique_ptr<Hold>(new Hold(std::move(list), storage));
  hold->list_->Link(hold.get());
  return {address, hold.release(), &Drop, device};
}

c10::Storage Hold::MakeStorage(std::shared_ptr<HoldList> list, gt_storage storage, void* address,
                               size_t bytes, c10::Device device,
                               std::shared_ptr<const Maker> maker, uint32_t output) {
  auto hold = std::unique_ptr<Hold>(new Hold(std::move(list), storage));
  Hold* const made = hold.get();
  made->maker_ = std::move(maker);
  made->output_ = output;
  auto torch_storage = c10::make_intrusive<c10::StorageImpl>(
      c10::StorageImpl::use_byte_size_t(), static_cast<int64_t>(bytes),
      c10::DataPtr(address, hold.release(), &Drop, device), /*allocator=*/nullptr,
      /*resizable=*/false);
  made->torch_storage_ = c10::weak_intrusive_ptr<c10::StorageImpl>(torch_storage);
  made->list_->Link(made);
  return c10::Storage(std::move(torch_storage));
}

void Hold::Drop(void* context) {
  const std::unique_ptr<Hold> hold(static_cast<Hold*>(context));
  if (drop_listener != nullptr) drop_listener(hold.get());
  hold->list_->Unlink(hold.get());
}

void HoldList::Link(Hold* hold) {
  const std::lock_guard<std::mutex> lock(mutex_);
  hold->after_ = first_;
  if (first_ != nullptr) first_->before_ = hold;
  first_ = hold;
  ++size_;
}

void HoldList::Unlink(Hold* hold) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (hold->is_stale_ || (hold != first_ && hold->before_ == nullptr)) return;
  if (hold->before_ != nullptr) hold->before_->after_ = hold->after_;
  if (hold->after_ != nullptr) hold->after_->before_ = hold->before_;
  if (first_ == hold) first_ = hold->after_;
  --size_;
}

bool HoldList::is_empty() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return first_ == nullptr;
}

size_t HoldList::size() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return size_;
}

void HoldList::EndStep(const std::string& by) {
  // A storage that is dying has no strong reference any more, and its hold waits for the lock.
  std::vector<std::pair<c10::intrusive_ptr<c10::StorageImpl>, std::string>> held;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (Hold* hold = first_; hold != nullptr;) {
      Hold* const next = hold->after_;
      hold->before_ = hold->after_ = nullptr;
      hold->is_stale_ = true;
      if (auto storage = hold->torch_storage_.lock(); storage) {
        held.emplace_back(std::move(storage),
                          hold->maker_ == nullptr ? "" : hold->maker_->Where(hold->output_));
      }
      hold = next;
    }
    first_ = nullptr;
    size_ = 0;
  }
  for (auto& [storage, where] : held) {
    storage->release_data_and_set_meta_custom_data_ptr_error_msg_(StaleText(where, by));
  }
}

}  // namespace graphtree::torch_adaptor
