// Package runview has the two panes of the page of a run: its hosts against its tasks, and its log. Both work without
// script: the matrix leads to the table, and the log shows its end as plain lines.
package runview
