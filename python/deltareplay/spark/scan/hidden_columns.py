"""Names of the columns that a scan adds."""

FILE_PATH = "_file_path"
ROW_INDEX = "_row_index"
ROW_ID = "_row_id"
ROW_COMMIT_VERSION = "_row_commit_version"

#: How the names of columns begin that no result has.
OWN = "__deltareplay_"

#: Columns that no result has: the position of a row in its file, and constants of files.
ROW_NUMBER = "__deltareplay_row_number"
VECTOR = "__deltareplay_vector"
BASE_ROW_ID = "__deltareplay_base_row_id"
DEFAULT_VERSION = "__deltareplay_default_version"
LOG_PATH = "__deltareplay_log_path"

#: What statements carry with each row of a table: the number of its file, and its id.
FILE = "__deltareplay_file"
OLD_ROW_ID = "__deltareplay_row_id"
OLD_VERSION = "__deltareplay_row_commit_version"

#: What a statement writes: the change that a row of the change data feed tells, null for a row of
#: the table; and the partition that holds these two apart while they are staged.
CHANGE = "__deltareplay_change"
KIND = "__deltareplay_kind"
BEFORE = "__deltareplay_before"

#: What an update adds to the rows of files that it copies: whether a row changes.
MARKED = "__deltareplay_marked"

#: What a merge adds to joined rows: whether a row of the source is there, and the clause.
FROM_SOURCE = "__deltareplay_from_source"
CLAUSE = "__deltareplay_clause"
#: Names of directories must not begin with ``_``: VACUUM passes over them.
IS_CHANGE = "deltareplay_is_change"
#: What stands for the empty string in names of directories, where Spark puts that with the nulls.
EMPTY = "deltareplay_empty"
