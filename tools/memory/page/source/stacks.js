// Stacks of one snapshot, as a tree: a stack is its innermost frame and the stack that called it.
//
//   stack:   0     1      2       3
//   frame:   -     main   train   forward
//   parent:  -     0      1       2          stack 3 is forward <- train <- main
//
// Stack 0 is empty. A parent always comes before its children, so whatever holds for a parent can
// be passed on in one loop.

const PLUMBING_NAMES = [
  'unwind::unwind',
  'CapturedTraceback::gather',
  'gather_with_cpp',
  '_start',
  '__libc_start_main',
  'PyEval_',
  'PyObject_',
  'PyFunction_',
  '_PyEval',
  '_PyObject',
  '_PyFunction',
  'PyType_',
  '_PyType',
  'CachingAllocator::',
  'CachingHostAllocator',
  'at::detail::empty_',
  'PyCMethod_',
  '_PyCFunction',
  'c10::impl::wrap_kernel_functor',
  '::redispatch(',
  'PyRun_',
  '_PyRun',
  'Py_Run',
  'PyVectorcall',
  'PyMethod_',
  'PyCFunction',
  'pthread_',
  '__clone',
  'Py_BytesMain',
  'PyInit_',
  '_PyStack',
  'PyNumber_',
  'PyIter_',
];
const PLUMBING_FILES = [
  'core/boxing',
  '/Register',
  '/Redispatch',
  'pythonrun.c',
  'Modules/main.c',
  'Objects/call.c',
  'Objects/methodobject.c',
  'pycore_ceval.h',
  'ceval.c',
  'cpython/abstract.h',
];
const LIBRARY =
  /(^|\/)(torch|torchgen|triton|functorch|contextlib|threading|runpy)(\/|\.py)|^<frozen/;

// Frames of the interpreter, the dispatcher and the recorder itself, which say nothing about who
// allocated.
export function isPlumbing(frame) {
  return (
    PLUMBING_NAMES.some((part) => frame.name.includes(part)) ||
    PLUMBING_FILES.some((part) => frame.file.includes(part))
  );
}

export class Stacks {
  // strings: texts; frames: three numbers each: name, file (string ids) and line.
  constructor(strings, frames, parent, frame) {
    this.strings = strings;
    this.frameWords = frames;
    this.parent = parent;
    this.frame = frame;
    this.titles = new Map();
    this.texts = new Map();
  }

  frameAt(id) {
    const words = this.frameWords;
    return {
      name: this.strings[words[3 * id]],
      file: this.strings[words[3 * id + 1]],
      line: words[3 * id + 2],
    };
  }

  // Innermost first.
  framesOf(stack) {
    const out = [];
    for (let s = stack; s !== 0; s = this.parent[s]) out.push(this.frameAt(this.frame[s]));
    return out;
  }

  // The whole stack as one text: equal texts are equal stacks, in any snapshot.
  text(stack) {
    let text = this.texts.get(stack);
    if (text === undefined) {
      text = this.framesOf(stack).map(frameText).join('\n');
      this.texts.set(stack, text);
    }
    return text;
  }

  // A short name for whoever allocated: the operator and the line of the user's code.
  title(stack) {
    let title = this.titles.get(stack);
    if (title === undefined) {
      title = titleOf(this.framesOf(stack));
      this.titles.set(stack, title);
    }
    return title;
  }

  // For each stack, whether any of its frames contains the text (lower case).
  matching(needle) {
    const hitString = this.strings.map((text) => text.toLowerCase().includes(needle));
    const hitFrame = new Uint8Array(this.frameWords.length / 3);
    for (let f = 0; f < hitFrame.length; ++f) {
      const here = hitString[this.frameWords[3 * f]] || hitString[this.frameWords[3 * f + 1]];
      hitFrame[f] = here || frameText(this.frameAt(f)).toLowerCase().includes(needle) ? 1 : 0;
    }
    const hit = new Uint8Array(this.parent.length);
    for (let s = 1; s < hit.length; ++s) hit[s] = hitFrame[this.frame[s]] | hit[this.parent[s]];
    return hit;
  }
}

// Where a frame is; in a shared object the line is an offset in bytes.
export function placeOf(frame) {
  if (!frame.file || frame.file === '??') return '';
  if (/\.so(\.|$)/.test(frame.file)) return `${frame.file}+0x${frame.line.toString(16)}`;
  return frame.line > 0 ? `${frame.file}:${frame.line}` : frame.file;
}

export function frameText(frame) {
  return placeOf(frame) ? `${placeOf(frame)} ${frame.name}` : frame.name;
}

function shortFile(file) {
  const parts = file.split('/');
  return parts.length > 2 ? parts.slice(-2).join('/') : file;
}

function firstMatch(frames, pattern) {
  for (const frame of frames) {
    const found = pattern.exec(frame.name);
    if (found) return found[1];
  }
  return '';
}

function titleOf(frames) {
  if (frames.length === 0) return '(no stack recorded)';
  const op = firstMatch(frames, /at::_ops::(\w+)::/);
  const python = frames.filter((frame) => frame.file.endsWith('.py') || frame.name === '<module>');
  const own = python.find((frame) => !LIBRARY.test(frame.file)) || python[0];
  if (own) return join(op, `${own.name} ${shortFile(own.file)}:${own.line}`);
  const backward = firstMatch(frames, /(\w+Backward\w*)::apply/);
  if (backward) return join(op, `${backward} (autograd)`);
  const plain = frames.find(
    (frame) => !isPlumbing(frame) && !/empty_generic|empty_cuda/.test(frame.name),
  );
  const frame = plain || frames[0];
  return join(
    op,
    shortName(frame.name) + (frame.file.endsWith('.so') ? ` ${shortFile(frame.file)}` : ''),
  );
}

function join(op, where) {
  return op ? `${op} ← ${where}` : where;
}

// A C++ name without its template and function arguments.
export function shortName(name) {
  let depth = 0;
  let out = '';
  for (const c of name.replaceAll('(anonymous namespace)::', '')) {
    if (c === '<' || c === '(') ++depth;
    if (depth === 0) out += c;
    if (c === '>' || c === ')') --depth;
  }
  return out.trim() || name.slice(0, 80);
}
