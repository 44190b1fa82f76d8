// Bodies with parts that must run eagerly: the recording is cut there, and every run, whatever its
// route, gives the same bytes.
#include <string>
#include <utility>
#include <vector>

#include "tests/tree/breaks_fixture.h"

namespace graphtree {
namespace {

using absl::StatusCode;

class BreaksTest : public BreaksFixture {};
GRAPHTREE_ON_EVERY_DEVICE(BreaksTest);

// Row 127: a round trip over the host in the middle.
TEST_P(BreaksTest, GraphPartition) {
  const FunctionId function = Register("f", {}, [this](Launcher& on, Values& inputs) {
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    const Tensor six = HostTimes(on, twice, 3);
    return Values{Sum(on, six, inputs[0])};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 7));
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(tree().stats().sections, 2u);
  EXPECT_EQ(replays(), 3u);
  EXPECT_EQ(tree().stats().eager_parts, 4u) << "in the recording and in each replay";
  EXPECT_EQ(eager(), 0u);
}

// Row 129: what was cut and why, told once.
TEST_P(BreaksTest, LogMessage) {
  const FunctionId function = Register("f", {}, [this](Launcher& on, Values& inputs) {
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    return Values{Sum(on, HostTimes(on, twice, 3), HostTimes(on, twice, 4))};
  });
  CallInSteps(4, function, {Given(1)});
  EXPECT_EQ(reasons(Reason::kBreak), 2u);
  ASSERT_EQ(warnings().size(), 1u);
  EXPECT_NE(warnings()[0].find("'f' is recorded in 3 sections, because parts of it run eagerly: "
                               "'host' after op 2, 'host' after op 2"),
            std::string::npos)
      << warnings()[0];
}

// Row 152: what crosses two cuts is neither freed nor overwritten between them.
TEST_P(BreaksTest, CustomOpMutationLateFree) {
  const FunctionId function = Register("f", {}, [this](Launcher& on, Values& inputs) {
    Tensor first = Sum(on, inputs[0], inputs[0]);              // 2x
    Tensor second = HostTimes(on, first, 2);                   // 4x
    Tensor third = HostTimes(on, Sum(on, first, second), 5);   // 30x
    second = Tensor();
    const Tensor other = Filled(on, 9, kWords);                // where `second` was
    return Values{Sum(on, Sum(on, third, first), other)};      // 32x + pattern
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Plus(Times(PatternOf(1), 32), PatternOf(9)));
  }
  EXPECT_EQ(tree().stats().sections, 3u);
  EXPECT_EQ(replays(), 3u);
}

// Row 32: two blocks with a part that writes its output, and a hidden tensor. What a block gives up
// is used by what follows, after the cut as in an eager run, so that both blocks need the room of
// one.
TEST_P(BreaksTest, MemoryPlanReuse) {
  std::vector<Address> hidden_at, out_at;  // of the body's last run
  const FunctionId function = Register("f", {}, [&](Launcher& on, Values& inputs) {
    hidden_at.clear();
    out_at.clear();
    Tensor hidden = Sum(on, inputs[0], inputs[0]);
    Tensor out;
    for (int block = 0; block < 2; ++block) {
      hidden_at.push_back(hidden.word());
      out = HostTimes(on, hidden, 3);
      out_at.push_back(out.word());
      hidden = Tensor();
      hidden = Sum(on, out, inputs[0]);
      out = Tensor();
    }
    return Values{hidden};
  });
  const auto expect_reuse = [&](const char* run) {
    ASSERT_EQ(hidden_at.size(), 2u);
    EXPECT_EQ(hidden_at[1], hidden_at[0]) << run;
    EXPECT_EQ(out_at[1], out_at[0]) << run;
  };
  for (uint32_t step = 1; step <= 5; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {Given(step)})[0]), Times(PatternOf(step), 22));
    expect_reuse(step == 1 ? "in the warm-up" : "in the recording");
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(tree().stats().sections, 3u);
  EXPECT_EQ(replays(), 3u);
  EXPECT_EQ(eager(), 0u);
}

// Row 16: parts change the caller's own memory between captured sections.
TEST_P(BreaksTest, CustomOpMutationWithCudagraphUnsafe) {
  OpenTree({.patch_bytes = 1});
  const FunctionId function =
      Register("f", {.static_inputs = {1}}, [this](Launcher& on, Values& inputs) {
        Bump(on, inputs[0], 1);
        HostBump(on, inputs[0], 10);
        HostBump(on, inputs[1], 5);
        Bump(on, inputs[1], 2);
        return Values{Sum(on, inputs[0], inputs[1])};
      });
  const Tensor x = Given(1), y = Given(2);
  Words x_words = PatternOf(1), y_words = PatternOf(2);
  for (int step = 0; step < 5; ++step) {
    x_words = Plus(x_words, Words(kWords, 11));
    y_words = Plus(y_words, Words(kWords, 7));
    EXPECT_EQ(Read(CallInSteps(1, function, {x, y})[0]), Plus(x_words, y_words));
    EXPECT_EQ(Read(x), x_words);
    EXPECT_EQ(Read(y), y_words);
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(eager(), 0u);
}

// Row 134: host memory is written from the device by every run.
TEST_P(BreaksTest, CpuScalarMutation) {
  uint32_t scalar = 0;
  const FunctionId function = Register("f", {}, [&](Launcher& on, Values& inputs) {
    const Tensor twice = Sum(on, inputs[0], inputs[0]);
    on.Break("a scalar on the host", {In(twice)},
             [&scalar](Launcher& part, absl::Span<const Tensor> tensors) {
               part.Fail(part.stream().Copy(AddressOf(&scalar), tensors[0].word(), 4));
               part.Fail(part.stream().Synchronize());
             });
    return Values{twice};
  });
  for (uint32_t step = 0; step < 4; ++step) {
    const Tensor x = Given(step + 1);
    scalar = 0;
    CallInSteps(1, function, {x});
    EXPECT_EQ(scalar, 2 * PatternOf(step + 1)[0]);
    EXPECT_EQ(Read(x), PatternOf(step + 1)) << "the device's is as it was";
  }
  EXPECT_EQ(graphs(), 1u);
}

// What is launched depends on data.
TEST_P(BreaksTest, ALaunchThatDependsOnData) {
  const FunctionId function = Register("f", {}, [](Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    on.Break("as often as the first word says", {In(Tensor::From(inputs[0])), InOut(out)},
             [](Launcher& part, absl::Span<const Tensor> tensors) {
               uint32_t times = 0;
               part.Fail(part.stream().Copy(AddressOf(&times), tensors[0].word(), 4));
               part.Fail(part.stream().Synchronize());
               for (uint32_t i = 0; i < times % 4; ++i) Bump(part, tensors[1], 100);
             });
    return Values{Sum(on, out, inputs[0])};
  });
  for (uint32_t seed = 1; seed < 9; ++seed) {
    const Words words = PatternOf(seed);
    EXPECT_EQ(Read(CallInSteps(1, function, {Given(seed)})[0]),
              Plus(Times(words, 3), Words(kWords, words[0] % 4 * 100)));
  }
  EXPECT_EQ(graphs(), 1u);
}

// Row 143: nothing but host work is a recording without an executable.
TEST_P(BreaksTest, CpuOnly) {
  int runs = 0;
  const FunctionId function = Register("f", {}, [&](Launcher& on, Values&) {
    on.Break("counting", {}, [&runs](Launcher&, absl::Span<const Tensor>) { ++runs; });
    return Values{};
  });
  CallInSteps(5, function, {});
  EXPECT_EQ(runs, 5);
  EXPECT_EQ(replays(), 3u);
  EXPECT_EQ(tree().stats().executables, 0u);
}

// Row 153: every size has sections of its own.
TEST_P(BreaksTest, CustomOpDynamicShapes) {
  const FunctionId function = Register("f", {}, [this](Launcher& on, Values& inputs) {
    return Values{Sum(on, HostTimes(on, Sum(on, inputs[0], inputs[0]), 3), inputs[0])};
  });
  for (const int64_t words : {kWords, kWords - 7, kWords + 9}) {
    const Tensor x = Given(1, words);
    for (int step = 0; step < 3; ++step) {
      EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(Pattern(1, words), 7));
    }
  }
  EXPECT_EQ(tree().stats().sections, 6u);
  EXPECT_EQ(replays(), 3u) << "one of each size";
}

// Row 154: a body that breaks nowhere is one section for each size.
TEST_P(BreaksTest, CustomOpNoSplit) {
  const FunctionId function = Register("f", {}, Twice);
  for (const int64_t words : {kWords, kWords - 7, kWords + 9}) {
    EXPECT_EQ(Read(CallInSteps(3, function, {Given(1, words)})[0]), Times(Pattern(1, words), 2));
  }
  EXPECT_EQ(tree().stats().sections, 3u);
  EXPECT_EQ(reasons(Reason::kBreak), 0u);
}

// Row 138: forward breaks, backward does not, and uses what was saved before and behind.
TEST_P(BreaksTest, ForwardBackward) {
  const FunctionId forward = Register("forward", {}, [this](Launcher& on, Values& inputs) {
    const Tensor early = Sum(on, inputs[0], inputs[0]);
    const Tensor late = HostTimes(on, early, 3);
    return Values{Sum(on, early, late), early, late};
  });
  const FunctionId backward = Register("backward", {}, [](Launcher& on, Values& inputs) {
    return Values{Sum(on, Sum(on, inputs[0], inputs[1]), inputs[2])};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    NewStep();
    Values made = Call(forward, {x});
    EXPECT_EQ(Read(Call(backward, std::move(made))[0]), Times(PatternOf(1), 16));
  }
  EXPECT_EQ(tree().stats().sections, 3u);
  EXPECT_EQ(replays(), 6u);
}

// Breaks inside of a part cut nothing.
TEST_P(BreaksTest, APartThatBreaksRunsInOneGo) {
  const FunctionId function = Register("f", {}, [this](Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    on.Break("outer", {InOut(out)}, [this](Launcher& part, absl::Span<const Tensor> tensors) {
      HostBump(part, tensors[0], 3);
      Bump(part, tensors[0], 4);
    });
    return Values{out};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 4; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]),
              Plus(Times(PatternOf(1), 2), Words(kWords, 7)));
  }
  EXPECT_EQ(tree().stats().sections, 2u);
  EXPECT_EQ(replays(), 2u);
}

// Inputs: today's address, whatever the recording does about it.
TEST_P(BreaksTest, PartsAreGivenTodaysInputs) {
  for (const uint64_t patch_bytes : {kDefaultPatchBytes, uint64_t{1}}) {
    OpenTree({.patch_bytes = patch_bytes});
    const FunctionId function = Register("f", {}, [this](Launcher& on, Values& inputs) {
      const Tensor right = Slice(inputs[0], kWords / 2, kWords / 2);
      return Values{HostTimes(on, right, 3), Sum(on, inputs[0], inputs[0])};
    });
    for (uint32_t step = 1; step < 9; ++step) {
      const Words words = PatternOf(step);
      const Values out = CallInSteps(1, function, {Given(step)});
      EXPECT_EQ(Read(out[0]), Times(Words(words.begin() + kWords / 2, words.end()), 3));
      EXPECT_EQ(Read(out[1]), Times(words, 2));
    }
    EXPECT_EQ(graphs(), 1u) << patch_bytes;
    EXPECT_EQ(eager(), 0u);
  }
}

// It keeps a tensor instead of taking it from its arguments: such an input may not be patched.
TEST_P(BreaksTest, APartThatKeepsAnInput) {
  OpenTree({.patch_bytes = 1});
  const FunctionId function = Register("f", {}, [](Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    on.Break("keeps", {InOut(out)},
             [kept = inputs[0]](Launcher& part, absl::Span<const Tensor> tensors) {
               part.Copy(tensors[0], Tensor::From(kept));
             });
    return Values{out};
  });
  for (uint32_t step = 1; step < 7; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {Given(step)})[0]), PatternOf(step)) << step;
  }
  EXPECT_EQ(tree().stats().copied_inputs, 1u);
}

// Memory that passes the cut belongs to the recording: another one, made later, takes the same
// place, and a replay is right all the same.
TEST_P(BreaksTest, ALaterRecordingTakesTheSameMemory) {
  const FunctionId small = Register("small", {}, [this](Launcher& on, Values& inputs) {
    Tensor hidden = Sum(on, inputs[0], inputs[0]);
    const Tensor out = HostTimes(on, hidden, 3);
    hidden = Tensor();
    return Values{Sum(on, out, out)};
  });
  const FunctionId large = Register("large", {}, [](Launcher& on, Values&) {
    return Values{Filled(on, 5, 8 * kWords), Filled(on, 6, 8 * kWords)};
  });
  const Tensor x = Given(1);
  for (int round = 0; round < 4; ++round) {
    EXPECT_EQ(Read(CallInSteps(1, small, {x})[0]), Times(PatternOf(1), 12));
    const Values made = CallInSteps(1, large, {});
    EXPECT_EQ(Read(made[0]), Pattern(5, 8 * kWords));
    EXPECT_EQ(Read(made[1]), Pattern(6, 8 * kWords));
  }
  EXPECT_EQ(graphs(), 2u);
}

// Parts allocate, also behind replays, where the books show another state.
TEST_P(BreaksTest, PartsHaveMemoryOfTheirOwn) {
  const FunctionId first = Register("first", {}, Twice);
  const FunctionId function = Register("f", {}, [](Launcher& on, Values& inputs) {
    const Tensor a = Sum(on, inputs[0], inputs[0]);
    const Tensor out = on.Empty(a.layout());
    on.Break("allocates", {In(a), Out(out)}, [](Launcher& part, absl::Span<const Tensor> tensors) {
      const Tensor twice = Sum(part, tensors[0], tensors[0]);
      const Tensor thrice = Sum(part, twice, tensors[0]);
      part.Copy(tensors[1], thrice);
    });
    return Values{Sum(on, out, a)};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    NewStep();
    const Values held = Call(first, {x});
    EXPECT_EQ(Read(Call(function, {x})[0]), Times(PatternOf(1), 8));
    EXPECT_EQ(Read(held[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(replays(), 6u);
}

// An input dies before the cut, and what the next section makes takes its place.
TEST_P(BreaksTest, AnInputThatDiesBeforeTheCut) {
  const FunctionId first = Register("first", {}, Twice);
  const FunctionId function = Register("f", {}, [this](Launcher& on, Values& inputs) {
    const Tensor a = Sum(on, inputs[0], inputs[0]);
    inputs.clear();
    const Tensor b = HostTimes(on, a, 3);
    return Values{Sum(on, a, b)};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    NewStep();
    EXPECT_EQ(Read(Call(function, Call(first, {x}))[0]), Times(PatternOf(1), 16));
  }
  EXPECT_EQ(graphs(), 2u);
  EXPECT_EQ(replays(), 6u);
}

TEST_P(BreaksTest, KeptOutputsOnBothSidesOfACut) {
  const FunctionId function =
      Register("f", {.kept_outputs = {0, 1, 2}}, [this](Launcher& on, Values& inputs) {
        const Tensor before = Sum(on, inputs[0], inputs[0]);
        const Tensor made = HostTimes(on, before, 3);
        return Values{before, made, Sum(on, made, before)};
      });
  Values kept[6];
  for (uint32_t step = 0; step < 6; ++step) kept[step] = CallInSteps(1, function, {Given(step)});
  for (uint32_t step = 0; step < 6; ++step) {
    EXPECT_EQ(Read(kept[step][0]), Times(PatternOf(step), 2)) << step;
    EXPECT_EQ(Read(kept[step][1]), Times(PatternOf(step), 6)) << step;
    EXPECT_EQ(Read(kept[step][2]), Times(PatternOf(step), 8)) << step;
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(eager(), 0u);
}

// Also in the first run a part works on the caller's stream: a tree that it calls there may live
// longer than its own.
TEST_P(BreaksTest, TheTreeThatAPartCallsLivesOn) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Tree> inner, Tree::Create(device(), {}));
  const FunctionId twice = inner->Register("twice", {}, Twice);
  const FunctionId outer = Register("outer", {}, [&](Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    on.Break("another tree", {InOut(out)}, [&](Launcher& part, absl::Span<const Tensor> tensors) {
      EXPECT_EQ(&part.stream(), &a());
      const auto made = inner->Run(twice, {tensors[0]}, part.stream());
      part.Fail(made.status());
      if (made.ok()) part.Copy(tensors[0], Tensor::From((*made)[0]));
    });
    return Values{Sum(on, out, out)};
  });
  const Tensor x = Given(1);
  EXPECT_EQ(Read(CallInSteps(1, outer, {x})[0]), Times(PatternOf(1), 8));
  CloseTree();
  for (int step = 0; step < 3; ++step) {
    inner->BeginStep();
    const auto made = inner->Run(twice, {x}, a());
    ASSERT_THAT(made, IsOk());
    EXPECT_EQ(Read((*made)[0]), Times(PatternOf(1), 2));
  }
  EXPECT_EQ(inner->stats().replays, 2u);
}

// What a part made is its own, whichever run it made it in.
TEST_P(BreaksTest, APartKeepsWhatItMadeFirst) {
  Value state;
  const FunctionId function = Register("counts", {}, [&](Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    on.Break("state", {Out(out)}, [&](Launcher& part, absl::Span<const Tensor> tensors) {
      if (state.is_none()) state = Filled(part, 3, kWords);
      part.Copy(tensors[0], Tensor::From(state));
    });
    return Values{Sum(on, out, out)};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(3), 2)) << step;
  }
  EXPECT_EQ(replays(), 3u);
}

// Another tree records and replays in a part that this one's recording is cut at.
TEST_P(BreaksTest, APartMayCallAnotherTree) {
  ASSERT_OK_AND_ASSIGN(const std::unique_ptr<Tree> other, Tree::Create(device(), {}));
  const FunctionId inner = other->Register("inner", {}, Twice);
  const FunctionId function = Register("f", {}, [&](Launcher& on, Values& inputs) {
    const Tensor out = Sum(on, inputs[0], inputs[0]);
    on.Break("another tree", {InOut(out)}, [&](Launcher& part, absl::Span<const Tensor> tensors) {
      other->BeginStep();
      const absl::StatusOr<Values> made = other->Run(inner, {tensors[0]}, part.stream());
      part.Fail(made.status());
      if (made.ok()) part.Copy(tensors[0], Tensor::From((*made)[0]));
    });
    return Values{Sum(on, out, inputs[0])};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    EXPECT_EQ(Read(CallInSteps(1, function, {x})[0]), Times(PatternOf(1), 5));
  }
  EXPECT_EQ(graphs(), 1u);
  EXPECT_EQ(replays(), 3u);
  EXPECT_GT(other->stats().replays, 0u);
}

// Two views that share bytes are one tensor's, and no two blocks.
TEST_P(BreaksTest, APartIsGivenViewsThatOverlap) {
  const FunctionId function = Register("f", {}, [](Launcher& on, Values& inputs) {
    const Tensor out = on.Empty(WordsLayout(kWords - 8));
    on.Break("part", {Out(out), In(Slice(inputs[0], 8, kWords - 8)), In(Slice(inputs[0], 6, 16))},
             [](Launcher& part, absl::Span<const Tensor> tensors) {
               part.Copy(tensors[0], tensors[1]);
             });
    return Values{out};
  });
  const FunctionId after = Register("after", {}, [](Launcher& on, Values&) {
    return Values{Filled(on, 9, kWords)};
  });
  const Tensor x[] = {Given(1), Given(2)};
  for (int step = 0; step < 6; ++step) {
    NewStep();
    Values out = Call(function, {x[step % 2]});
    const Words whole = PatternOf(1 + step % 2);
    EXPECT_EQ(Read(out[0]), Words(whole.begin() + 8, whole.end())) << "in step " << step;
    out.clear();
    EXPECT_EQ(Read(Call(after, {})[0]), PatternOf(9));
  }
  EXPECT_GT(replays(), 4u);
}

// What a part is told to use covers the place of an output that is made after it.
TEST_P(BreaksTest, AnOutputLiesWhereAPartHadItsTensor) {
  const FunctionId function = Register("f", {}, [](Launcher& on, Values& inputs) {
    const Tensor first = Sum(on, inputs[0], inputs[0]);  // whole quanta before what moves
    Tensor large = Filled(on, 3, 256);
    const Tensor part_of_it = Slice(large, 64, 192);
    on.Break("part", {InOut(part_of_it)}, [](Launcher& part, absl::Span<const Tensor> tensors) {
      part.Fill(tensors[0], 7);
    });
    return Values{first};
  });
  const FunctionId next = Register("next", {}, [](Launcher& on, Values& inputs) {
    return Values{Sum(on, inputs[0], inputs[0])};
  });
  const Tensor x = Given(1);
  for (int step = 0; step < 5; ++step) {
    NewStep();
    Values out = Call(function, {x});
    EXPECT_EQ(Read(Call(next, {out[0]})[0]), Times(PatternOf(1), 4)) << "in step " << step;
  }
}

}  // namespace
}  // namespace graphtree
