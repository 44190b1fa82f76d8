// The tables of a snapshot in SQLite, for people who would rather ask in SQL.
//
//   segments ---< blocks            blocks.segment_id = segments.id
//   traces ---< trace_entries       trace_entries.trace_id = traces.id
//   stacks (id, depth, frame_id) ---< frames      blocks.stack_id, trace_entries.stack_id
//   stack_text                      a view: a stack as lines "file:line name", innermost first
//   shapes                          which keys a row had, in order, as a JSON array
//   root                            every other key of the file, as JSON; a key that is no text is
//                                   a blob of JSON
//
// A column is NULL where its key is absent. `extras` holds the keys that have no column, as a JSON
// object; a tuple in there is {"(tuple)": [...]}, a dictionary with keys that are no texts
// {"(dict)": [[key, value], ...]}, and a key that begins with "(" has one more of it. Addresses of
// 2^63 and more wrap to negative integers, as SQLite has no others.
//
//   SELECT text, sum(size) FROM blocks JOIN stack_text USING (stack_id)
//   WHERE state = 'active_allocated' GROUP BY stack_id ORDER BY 2 DESC LIMIT 10;
#ifndef GRAPHTREE_ALLOCATOR_SNAPSHOT_SQLITE_SCHEMA_H_
#define GRAPHTREE_ALLOCATOR_SNAPSHOT_SQLITE_SCHEMA_H_

namespace graphtree::snapshot {

inline constexpr int kSqliteVersion = 2;

inline constexpr char kSqliteSchema[] = R"(
CREATE TABLE about (version INTEGER NOT NULL, segments_only INTEGER NOT NULL,
                    pickle_protocol INTEGER NOT NULL);
CREATE TABLE root (position INTEGER PRIMARY KEY, key TEXT NOT NULL, value TEXT);
CREATE TABLE shapes (id INTEGER PRIMARY KEY, keys TEXT NOT NULL);
CREATE TABLE frames (id INTEGER PRIMARY KEY, name TEXT, filename TEXT, line INTEGER,
                     shape_id INTEGER NOT NULL, extras TEXT);
CREATE TABLE stacks (stack_id INTEGER NOT NULL, depth INTEGER NOT NULL, frame_id INTEGER NOT NULL,
                     PRIMARY KEY (stack_id, depth)) WITHOUT ROWID;
CREATE TABLE segments (id INTEGER PRIMARY KEY, side TEXT NOT NULL, device INTEGER,
                       address INTEGER, total_size INTEGER, allocated_size INTEGER,
                       active_size INTEGER, requested_size INTEGER, stream INTEGER,
                       segment_type TEXT, pool_0 INTEGER, pool_1 INTEGER, is_expandable INTEGER,
                       stack_id INTEGER, shape_id INTEGER NOT NULL, extras TEXT);
CREATE TABLE blocks (id INTEGER PRIMARY KEY, segment_id INTEGER NOT NULL, address INTEGER,
                     size INTEGER, requested_size INTEGER, state TEXT, stack_id INTEGER,
                     shape_id INTEGER NOT NULL, extras TEXT);
CREATE TABLE traces (id INTEGER PRIMARY KEY, side TEXT NOT NULL, device INTEGER NOT NULL);
CREATE TABLE trace_entries (id INTEGER PRIMARY KEY, trace_id INTEGER NOT NULL, action TEXT,
                            addr INTEGER, size INTEGER, stream INTEGER, time_us INTEGER,
                            compile_context TEXT, user_metadata TEXT, internal_metadata TEXT,
                            pool_0 INTEGER, pool_1 INTEGER, stack_id INTEGER,
                            shape_id INTEGER NOT NULL, extras TEXT);
CREATE VIEW stack_text AS
  SELECT stack_id, group_concat(line, char(10)) AS text FROM
    (SELECT stack_id, filename || ':' || line || ' ' || name AS line
     FROM stacks JOIN frames ON frames.id = stacks.frame_id ORDER BY stack_id, depth)
  GROUP BY stack_id;
)";

inline constexpr char kSqliteIndexes[] = R"(
CREATE INDEX blocks_by_segment ON blocks (segment_id);
CREATE INDEX entries_by_trace ON trace_entries (trace_id);
CREATE INDEX entries_by_address ON trace_entries (addr);
)";

}  // namespace graphtree::snapshot

#endif  // GRAPHTREE_ALLOCATOR_SNAPSHOT_SQLITE_SCHEMA_H_
