"""Names of the columns that a scan adds."""

FILE_PATH = "_file_path"
ROW_INDEX = "_row_index"
ROW_ID = "_row_id"
ROW_COMMIT_VERSION = "_row_commit_version"

#: The prefix of columns that are removed from results.
PREFIX = "__deltareplay_"

#: The position of a row in its file, and constants of files.
ROW_NUMBER = "__deltareplay_row_number"
VECTOR = "__deltareplay_vector"
BASE_ROW_ID = "__deltareplay_base_row_id"
DEFAULT_VERSION = "__deltareplay_default_version"
LOG_PATH = "__deltareplay_log_path"

#: Columns of the joins that remove deleted rows and add constants of files.
KEY, WORDS = "__deltareplay_key", "__deltareplay_words"
PATH, SCANNED_PATH = "__deltareplay_path", "__deltareplay_scanned_path"
#: The names that no column of a data file may have.
OF_JOINS = (ROW_NUMBER, KEY, WORDS, PATH, SCANNED_PATH)

#: Columns of statements: the number of a row's file, and its id and commit version.
FILE = "__deltareplay_file"
OLD_ROW_ID = "__deltareplay_row_id"
OLD_VERSION = "__deltareplay_row_commit_version"

#: The change type of a row of the change data feed, null for a row of the table; the kind of a
#: change; and the row before the change.
CHANGE = "__deltareplay_change"
KIND = "__deltareplay_kind"
BEFORE = "__deltareplay_before"

#: Whether a row of a copied file is updated.
MARKED = "__deltareplay_marked"

#: Columns of joined rows of a merge: whether there is a source row, and the clause that applies.
FROM_SOURCE = "__deltareplay_from_source"
CLAUSE = "__deltareplay_clause"
#: The partition that separates change data from data while they are staged. Names of directories
#: must not begin with ``_``: VACUUM ignores those.
IS_CHANGE = "deltareplay_is_change"


def is_hidden(name: str) -> bool:
    """Return whether a scan or a statement may add a column of this name."""
    return name.lower().startswith(PREFIX) or name.lower() == IS_CHANGE
