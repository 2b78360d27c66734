//! Every sentence of a dossier in both languages. `{0}` stands for the first value.

/// The language of a dossier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Lang {
    /// English.
    #[default]
    En,
    /// Chinese, simplified.
    Zh,
}

/// A sentence: English, Chinese.
pub(super) type Said = [&'static str; 2];

impl Lang {
    pub(super) fn of(self, said: Said) -> &'static str {
        said[usize::from(self == Self::Zh)]
    }

    /// The sentence with values inserted.
    pub(super) fn with(self, said: Said, values: &[&str]) -> String {
        values
            .iter()
            .enumerate()
            .fold(self.of(said).to_owned(), |text, (at, value)| text.replace(&format!("{{{at}}}"), value))
    }

    /// A list of names.
    pub(super) fn list(self, names: &[String]) -> String {
        names.join(self.of([", ", "、"]))
    }

    /// The language code for `html lang`.
    pub(super) fn code(self) -> &'static str {
        self.of(["en", "zh-CN"])
    }
}

pub(super) const SIDES: Said = [
    "Before: {0} ({1} files read). After: {2} ({3} files read). Limited to {4}.",
    "改动前：{0}（读取 {1} 个文件）。改动后：{2}（读取 {3} 个文件）。范围：{4}。",
];
pub(super) const LEFT_OUT: Said = ["Left out of the input, and notes on it:", "被略去的内容，以及关于输入的说明："];
pub(super) const ALL_FILES: Said = ["all files", "全部文件"];
pub(super) const FEATURE: Said = ["1. Feature and principle", "1. 特性与原理"];
pub(super) const EVOLUTION: Said = ["2. Evolution", "2. 演进历史"];
pub(super) const NO_HISTORY: Said =
    ["No history was given: commits and releases are unknown.", "未提供历史：提交和发布版本未知。"];
pub(super) const NO_TAGS: Said = [
    "No tag of the checkout holds these commits: the releases that they landed in are not known.",
    "检出的仓库中没有包含这些提交的标签：进入的发布版本未知。",
];
pub(super) const EVENT_COLUMNS: [Said; 5] =
    [["commit", "提交"], ["date", "日期"], ["author", "作者"], ["subject", "主题"], ["landed in", "进入版本"]];
pub(super) const NOT_RELEASED: Said = ["in no tag yet", "尚无标签"];
pub(super) const REFERENCES: Said = ["2.1 References", "2.1 参考资料"];
pub(super) const REFERENCE_COLUMNS: [Said; 3] = [["of", "来源"], ["kind", "类型"], ["reference", "参考"]];
pub(super) const DOCUMENTATION: Said = ["Documentation", "文档"];
pub(super) const FILES_NAME_IT: Said = ["{0} ({1} files name it)", "{0}（{1} 个文件提到）"];
pub(super) const DIFFERENCES: Said = ["3. Differences", "3. 差异"];
pub(super) const INTERFACES: Said = ["3.1 Interfaces", "3.1 接口"];
pub(super) const NONE_DIFFERS: Said = ["None differs.", "没有差异。"];
pub(super) const INTERFACE_COLUMNS: [Said; 5] =
    [["name", "名称"], ["change", "变化"], ["before", "改动前"], ["after", "改动后"], ["by", "提交或补丁"]];
pub(super) const IF: Said = ["if", "条件"];
pub(super) const CODE: Said = ["3.2 Code", "3.2 代码"];
pub(super) const SUBSYSTEM_COLUMNS: [Said; 6] = [
    ["subsystem (MAINTAINERS)", "子系统（MAINTAINERS）"],
    ["status", "状态"],
    ["lists", "邮件列表"],
    ["files", "文件数"],
    ["added", "新增行"],
    ["removed", "删除行"],
];
pub(super) const NO_FILES: Said = ["No file differs.", "没有文件不同。"];
pub(super) const NO_MAINTAINERS: Said =
    ["The trees have no file MAINTAINERS: subsystems are not known.", "源码树中没有 MAINTAINERS 文件：子系统未知。"];
pub(super) const FILE_COLUMNS: [Said; 4] =
    [["file", "文件"], ["change", "变化"], ["added", "新增行"], ["removed", "删除行"]];
pub(super) const FUNCTIONS: Said =
    ["Functions, by lines of code; comments and white space do not count.", "函数，按代码行统计；注释和空白不计。"];
pub(super) const FUNCTION_COLUMNS: [Said; 6] = [
    ["function", "函数"],
    ["change", "变化"],
    ["lines", "行数"],
    ["before", "改动前"],
    ["after", "改动后"],
    ["condition", "条件"],
];
pub(super) const FLOW: Said = ["3.3 Call flow and 3.4 key functions", "3.3 调用流程与 3.4 关键函数"];
pub(super) const FIRST_RANKED: Said =
    ["The {0} with the highest rank of {1} functions that differ.", "有差异的函数共 {1} 个，以下为排名最前的 {0} 个。"];
pub(super) const HOW_RANKED: Said = [
    "Ranked by lines that differ, callers, operation tables and a changed signature. In the pictures a call is green if \
     only the second version makes it and red if only the first did. Calls are found by name; those through a pointer, \
     marked (*), by the member and the type that it is taken from, so other tables of that type are among them.",
    "按差异行数、调用者、操作表和签名变化排序。图中绿色为仅新版本有的调用，红色为仅旧版本有的调用。调用按名称查找；\
     经指针的调用（标有 (*)）按成员及其所属类型查找，因此同一类型的其他操作表也在其中。",
];
pub(super) const REASON: Said = ["{0}: lines in the diff: {1}, callers: {2}", "{0}：差异行数 {1}，调用者 {2} 个"];
pub(super) const REASON_OUTSIDE: Said = [", callers outside of the paths: {0}", "，范围之外的调用者 {0} 个"];
pub(super) const OUTSIDE: Said = ["{0} (outside)", "{0}（范围之外）"];
pub(super) const OUTSIDE_HOW: Said = [
    "Outside of the paths are callers of functions that are new, gone or have another signature; of all of these, \
     not of the key functions alone.",
    "“范围之外”为新增、删除或签名变化的函数在所比较路径之外的调用者；包括全部此类函数，不限于关键函数。",
];
pub(super) const NOT_ADAPTED: Said = [
    "Warning: calls that were left as they were. They fitted the function before and do not fit it now: such a tree \
     does not compile, if it builds those files.",
    "警告：未适配的调用。这些调用与改动前的函数相符，与改动后的不符：编译到这些文件时会失败。",
];
pub(super) const NOT_ADAPTED_COLUMNS: [Said; 5] =
    [["function", "函数"], ["caller", "调用者"], ["place", "位置"], ["passes", "传入参数"], ["takes", "需要参数"]];
pub(super) const IS_GONE: Said = ["it is gone", "已删除"];
pub(super) const REASON_TABLES: Said = [", operation tables: {0}", "，操作表 {0} 个"];
pub(super) const REASON_SIGNATURE: Said = [", signature changed", "，签名变化"];
pub(super) const REGISTERED: Said = [" Registered as {0}.", "注册为 {0}。"];
pub(super) const CALLED_BY: Said = [" Called by {0}.", "调用者：{0}。"];
pub(super) const DISPATCHED: Said = [" Dispatched from {0}.", "分派自 {0}。"];
pub(super) const PERHAPS: Said = [
    " Possibly dispatched from {0}: by the member's name alone, the type there is not known.",
    "可能分派自 {0}：仅按成员名，此处类型未知。",
];
pub(super) const CALLS_ADDED: Said = [" Calls added: {0}.", "新增调用：{0}。"];
pub(super) const CALLS_REMOVED: Said = [" Calls removed: {0}.", "删除的调用：{0}。"];
pub(super) const AND_MORE: Said = [" and {0} more", "，另有 {0} 个"];
pub(super) const STOP: Said = [".", "。"];
pub(super) const CALLS_OF: Said = ["calls of {0}", "{0} 的调用"];
pub(super) const FLOW_FROM: Said = ["call flow from {0}", "从 {0} 开始的调用流程"];
pub(super) const CALLED_FROM: Said = ["called by {0}", "调用者：{0}"];
pub(super) const HOW_ENTRIES: Said = [
    "The entries into the change, and below each the functions that differ, as they call each other (by name). Green: new, or \
     a call that only the second version makes. Red: gone, or a call that only the first made. ↑: drawn above.",
    "改动的各个入口，其下是有差异的函数及其相互调用（按名称）。绿色：新增的函数，或仅新版本有的调用；红色：删除的函数，或仅旧版本有的调用；↑：上文已画出。",
];
pub(super) const MORE_ENTRIES: Said = ["{0} more entries are not drawn: {1}.", "另有 {0} 个入口未画出：{1}。"];
pub(super) const MODULE_CALLS: Said =
    ["calls between modules, by the functions that differ", "有差异的函数在模块之间的调用"];
pub(super) const HOW_MODULES: Said = [
    "Calls by name from the functions that differ into other modules. Green: only the second version makes them. Red: \
     only the first one did. A wider line stands for more calls; the number next to a module counts its calls.",
    "有差异的函数按名称调用其他模块：绿色仅新版本有，红色仅旧版本有，线越粗调用越多；模块旁为其数目。",
];
pub(super) const MODULES: Said = ["3.5 Affected modules", "3.5 受影响的模块"];
pub(super) const MODULE_COLUMNS: [Said; 4] = [
    ["folder", "目录"],
    ["functions that differ", "有差异的函数"],
    ["calls of key functions from it", "来自该目录的关键函数调用"],
    ["hits of functions that differ", "有差异函数的命中次数"],
];
pub(super) const HITS: Said = [
    "At run time ({0}), of the functions that differ {1} ran, {2} did not or have no symbol of their own.",
    "运行时（{0}）：有差异的函数中 {1} 个被执行，{2} 个未执行或没有自己的符号。",
];
pub(super) const HIT_COLUMNS: [Said; 3] =
    [["function that ran", "执行过的函数"], ["folder", "目录"], ["hits", "命中次数"]];
pub(super) const SIMILAR: Said = ["3.6 Similar features", "3.6 相似特性"];
pub(super) const SIMILAR_HOW: Said = [
    "Candidates: functions that did not change and use members, constants and knobs of the lines that differ; rare names count more.",
    "候选：未改动、但使用差异行中的成员、常量和可调参数的函数；越少见的名称权重越高。",
];
pub(super) const SIMILAR_COLUMNS: [Said; 4] =
    [["function", "函数"], ["place", "位置"], ["shares", "共同使用"], ["with", "对应的改动函数"]];
pub(super) const STRUCTURES: Said = ["3.7 Main data structures", "3.7 主要数据结构"];
pub(super) const STRUCTURES_HOW: Said = [
    "Members that differ. Readers and writers are found by the member's name; if several structs have a member of \
     that name, all of theirs are included.",
    "有差异的成员。读写者按成员名查找；多个结构体有同名成员时，其他结构体的读写也在其中。",
];
pub(super) const KEPT: Said = ["{0}; members kept as they are: {1}.", "{0}；未变的成员：{1} 个。"];
pub(super) const MEMBER_COLUMNS: [Said; 5] =
    [["member", "成员"], ["before", "改动前"], ["after", "改动后"], ["written by", "写入者"], ["read by", "读取者"]];
pub(super) const NAMESAKES: Said = ["{0} (a name in {1} structs)", "{0}（{1} 个结构体有此名）"];
pub(super) const BODIES: Said = ["3.8 Key functions, line by line", "3.8 关键函数逐行说明"];
pub(super) const BODIES_HOW: Said =
    ["Line numbers before and after; + and - as in a diff.", "左侧为改动前和改动后的行号；+ 和 - 与 diff 相同。"];
pub(super) const MEASUREMENT: Said = ["4. Measurement", "4. 测量"];
pub(super) const FROM_RUN: Said = ["From the run {0}:", "来自测量 {0}（原文为英文）："];
pub(super) const CALL_COLUMNS: [Said; 3] =
    [["function", "函数"], ["arm", "分组"], ["calls per operation", "每次操作的调用次数"]];
pub(super) const VERIFICATION: Said = ["4.1 Verification", "4.1 验证"];
pub(super) const PROBLEMS: Said = ["4.2 Problems and fixes", "4.2 问题与修复"];
pub(super) const PROBLEM_COLUMNS: [Said; 3] =
    [["commit", "提交"], ["later commit that fixes it", "修复它的后续提交"], ["landed in", "进入版本"]];
pub(super) const NO_PROBLEMS: Said = [
    "No later commit of the history says that it fixes or reverts one of these.",
    "历史中没有后续提交声明修复或撤销上述提交。",
];
pub(super) const SUMMARY: Said = ["5. Summary", "5. 总结"];
pub(super) const COUNTS: Said = [
    "{0} files and {1} interfaces differ. Functions: {2} changed, {3} new, {4} removed, {5} renamed.",
    "{0} 个文件、{1} 个接口有差异。函数：{2} 个改动，{3} 个新增，{4} 个删除，{5} 个改名。",
];
pub(super) const NOT_READ: Said = ["Not read", "未能读取"];
pub(super) const NOT_READ_COLUMNS: [Said; 3] = [["tree", "源码树"], ["place", "位置"], ["what", "内容"]];
/// In the order of `schedlab_kernel::source::NOT_READ`, which has the English text.
pub(super) const NOT_READ_REASONS: [&str; schedlab_kernel::source::NOT_READ.len()] = [
    "没有对应左括号的右花括号",
    "声明被文件结尾截断",
    "花括号前不是函数、类型或对象",
    "函数体始于 #if 分支，其中出现 #else",
    "花括号不成对；按行首的右花括号结束处理",
    "函数体被文件结尾截断",
];
pub(super) const IN_FOLDER: Said = ["in {0}:", "目录 {0}："];
pub(super) const INSIDE: Said = ["inside: {0}", "函数内条件：{0}"];
pub(super) const WITHOUT_PLACE: Said = ["Notes whose place is gone", "失去位置的注释"];
pub(super) const NOTE_OF: Said = ["Of `{0}`:", "原位置 `{0}`："];
pub(super) const BEFORE_AFTER: [Said; 2] = [["before", "改动前"], ["after", "改动后"]];

/// Kinds of changes, by the kernel crate's word for each.
pub(super) const CHANGES: &[Said] = &[
    ["added", "新增"],
    ["removed", "删除"],
    ["changed", "改动"],
    ["renamed", "改名"],
    ["new", "新增"],
    ["gone", "删除"],
];
pub(super) const RENAMED_FROM: Said = ["renamed from {0}", "由 {0} 改名"];
pub(super) const MODES: Said = [", mode {0} → {1}", "，权限 {0} → {1}"];
pub(super) const SIGNATURE: Said = ["signature: {0} → {1}", "签名：{0} → {1}"];

/// Titles in the order of `Kind`.
pub(super) const KINDS: [Said; 24] = [
    ["System calls", "系统调用"],
    ["System call numbers", "系统调用号"],
    ["Sysctls", "Sysctl 参数"],
    ["Defaults of sysctl variables", "Sysctl 变量默认值"],
    ["Debugfs files", "Debugfs 文件"],
    ["Files in /proc", "/proc 文件"],
    ["Files in /sys", "/sys 文件"],
    ["Cgroup files", "Cgroup 文件"],
    ["Scheduler features", "调度器特性开关"],
    ["Kconfig options", "Kconfig 选项"],
    ["Boot parameters", "启动参数"],
    ["Module parameters", "模块参数"],
    ["MIB counters", "MIB 计数器"],
    ["Tracepoints", "跟踪点"],
    ["Kfuncs", "Kfunc"],
    ["BPF helpers", "BPF 辅助函数"],
    ["Static keys", "静态键"],
    ["Exported symbols", "导出符号"],
    ["Constants of the user-space API", "用户空间 API 常量"],
    ["Types", "类型"],
    ["Members", "成员"],
    ["Operations registered in tables", "操作表中注册的操作"],
    ["Signatures of global functions", "全局函数签名"],
    ["Macros that changed", "改动的宏"],
];

/// The text of a slot until an engineer writes one.
pub(super) const TO_WRITE: [Said; 7] = [
    ["[To be written by an engineer: what it is for and how it works.]", "[由工程师填写：用途与工作原理。]"],
    [
        "[To be written by an engineer: which of these, or which other feature, is like this one, and how they act together.]",
        "[由工程师填写：哪些特性与此相似，以及它们如何相互作用。]",
    ],
    ["[To be filled from a measured run: --run DIR.]", "[由测量结果填写：--run DIR。]"],
    ["[Conclusions: to be written by an engineer.]", "[结论：由工程师填写。]"],
    ["[Comment of an engineer.]", "[工程师注释。]"],
    ["[To be written by an engineer: how it was verified.]", "[由工程师填写：如何验证。]"],
    [
        "[To be written by an engineer: problems met and how they were solved.]",
        "[由工程师填写：遇到的问题与解决方法。]",
    ],
];
