// Package changes makes changes of the runs that name them.
package changes
