// Trees, their functions, workspaces and generators: making them.
#include <string>
#include <utility>
#include <vector>

#include "graphs/tree.h"
#include "runtime/c/bodies.h"
#include "runtime/c/entry.h"
#include "runtime/c/observer_object.h"
#include "runtime/c/tree_objects.h"
#include "runtime/c/tree_options_of.h"

using graphtree::AddressRange;
using graphtree::c::HoldContext;
using graphtree::c::Entry;
using graphtree::c::FunctionObject;
using graphtree::c::GeneratorObject;
using graphtree::c::NewObject;
using graphtree::c::OpenedTree;
using graphtree::c::Ref;
using graphtree::c::TreeObject;
using graphtree::c::Within;
using graphtree::c::WorkspaceObject;

gt_error gt_tree_new(gt_device device, const gt_tree_options* options, gt_tree* out) noexcept {
  return Within("gt_tree_new", [&](Entry& entry) -> gt_error {
    const graphtree::TreeOptions read = graphtree::c::TreeOptionsOf(options, &entry);
    const auto of = entry.Get<graphtree::c::DeviceObject>(device, "device");
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    absl::StatusOr<std::unique_ptr<graphtree::Tree>> tree =
        graphtree::Tree::Create(of->device(), read);
    if (!tree.ok()) return entry.Return(tree.status());
    std::shared_ptr<OpenedTree> opened;
    entry.Own([&] { opened = std::make_shared<OpenedTree>(of->opened(), *std::move(tree)); });
    if (!entry.ok()) return entry.Failed();
    return entry.Give(NewObject<TreeObject>(std::move(opened)), out);
  });
}

gt_error gt_tree_register(gt_tree tree, const char* name, const gt_function_options* options,
                          gt_body body, void* context, void (*destroy)(void* context),
                          gt_function* out) noexcept {
  return Within("gt_tree_register", [&](Entry& entry) -> gt_error {
    const auto held = HoldContext(context, destroy, &entry);
    const Ref<TreeObject> in = entry.Get<TreeObject>(tree, "tree");
    const graphtree::FunctionOptions read = graphtree::c::FunctionOptionsOf(options, &entry);
    entry.Has(name, "name");
    if (body == nullptr) entry.Fail(absl::InvalidArgumentError("gt_tree_register: body is null"));
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    graphtree::Body made;
    std::string own_name;
    std::vector<uint32_t> static_inputs;
    const bool has_memory =
        entry.Own([&] { own_name = name; }) &&
        entry.Own([&] { static_inputs = read.static_inputs; }) &&
        entry.Own([&] { made = graphtree::c::BodyOf(body, held, in->opened()->opened()); });
    if (!has_memory) {
      held->EndNow();
      return entry.Failed();
    }
    const graphtree::FunctionId id = in->tree().Register(name, read, std::move(made));
    const gt_error error = graphtree::c::GiveTreesOwn(
        entry,
        NewObject<FunctionObject>(in->opened(), id, std::move(own_name), std::move(static_inputs)),
        out);
    // Nobody could call it.
    if (error != nullptr) in->tree().Unregister(id).IgnoreError();
    return error;
  });
}

gt_error gt_tree_begin_step(gt_tree tree) noexcept {
  return Within("gt_tree_begin_step", [&](Entry& entry) -> gt_error {
    const Ref<TreeObject> in = entry.Get<TreeObject>(tree, "tree");
    if (entry.ok()) entry.Fail(graphtree::c::CheckNotToldBy(in->tree(), "a step begins"));
    if (!entry.ok()) return entry.Failed();
    in->tree().BeginStep();
    return nullptr;
  });
}

gt_error gt_workspace_new(gt_tree tree, const char* name, gt_range memory,
                          gt_workspace* out) noexcept {
  return Within("gt_workspace_new", [&](Entry& entry) -> gt_error {
    const Ref<TreeObject> in = entry.Get<TreeObject>(tree, "tree");
    const AddressRange range = {memory.address, memory.bytes};
    if (entry.Has(name, "name")) entry.Fail(graphtree::Workspaces::CheckMemory(name, range));
    if (!entry.Sets(out, "out") || !entry.ok()) return entry.Failed();
    const graphtree::WorkspaceId id = in->tree().RegisterWorkspace(name, range);
    return graphtree::c::GiveTreesOwn(entry, NewObject<WorkspaceObject>(in->opened(), id), out);
  });
}

gt_error gt_workspace_move(gt_workspace workspace, gt_range memory) noexcept {
  return Within("gt_workspace_move", [&](Entry& entry) -> gt_error {
    const Ref<WorkspaceObject> of = entry.Get<WorkspaceObject>(workspace, "workspace");
    if (!entry.ok()) return entry.Failed();
    return entry.Return(of->tree().MoveWorkspace(of->id(), {memory.address, memory.bytes}));
  });
}

gt_error gt_workspace_touch(gt_workspace workspace) noexcept {
  return Within("gt_workspace_touch", [&](Entry& entry) -> gt_error {
    const Ref<WorkspaceObject> of = entry.Get<WorkspaceObject>(workspace, "workspace");
    if (!entry.ok()) return entry.Failed();
    return entry.Return(of->tree().TouchWorkspace(of->id()));
  });
}

gt_error gt_generator_new(uint64_t seed, gt_generator* out) noexcept {
  return Within("gt_generator_new", [&](Entry& entry) -> gt_error {
    if (!entry.Sets(out, "out")) return entry.Failed();
    std::shared_ptr<graphtree::Generator> made;
    entry.Own([&] { made = std::make_shared<graphtree::Generator>(seed); });
    if (!entry.ok()) return entry.Failed();
    return entry.Give(NewObject<GeneratorObject>(std::move(made)), out);
  });
}

gt_error gt_generator_seed(gt_generator generator, uint64_t seed, uint64_t offset) noexcept {
  return Within("gt_generator_seed", [&](Entry& entry) -> gt_error {
    const Ref<GeneratorObject> of = entry.Get<GeneratorObject>(generator, "generator");
    if (!entry.ok()) return entry.Failed();
    of->generator()->Seed(seed, offset);
    return nullptr;
  });
}

gt_error gt_generator_look(gt_generator generator, uint64_t* seed, uint64_t* offset) noexcept {
  return Within("gt_generator_look", [&](Entry& entry) -> gt_error {
    const Ref<GeneratorObject> of = entry.Get<GeneratorObject>(generator, "generator");
    entry.Sets(seed, "seed");
    if (!entry.Sets(offset, "offset") || !entry.ok()) return entry.Failed();
    *seed = of->generator()->seed();
    *offset = of->generator()->offset();
    return nullptr;
  });
}
