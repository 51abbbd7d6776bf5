// Package visible restricts queries to the objects that their reader may read. All lists use it.
package visible

import (
	"strings"

	"github.com/writ-automation/writ/ports/access"
)

// Where returns a condition that is true if the scope may read the object whose name is in the column. An ambiguous
// column must be qualified. The column must not be NULL.
func Where(s access.Scope, column string) (text string, args []any) {
	if s.All {
		return "1 = 1", nil
	}
	granted, args := granted(s, column)
	if s.Strict {
		own, more := among("ao.org_id", s.Orgs)
		return "(EXISTS (SELECT 1 FROM access_objects AS ao WHERE ao.id = " + column + " AND " + own + ") OR " +
				granted + ")",
			append(more, args...)
	}
	foreign, more := "", []any(nil)
	if len(s.Orgs) > 0 {
		own, orgs := among("ao.org_id", s.Orgs)
		foreign, more = " AND (ao.org_id IS NULL OR NOT "+own+")", orgs
	}
	return "(NOT EXISTS (SELECT 1 FROM access_objects AS ao WHERE ao.id = " + column + " AND ao.restricted" + foreign +
			") OR " + granted + ")",
		append(more, args...)
}

// granted returns a condition that is true if a grant of any level names a subject of the scope.
func granted(s access.Scope, column string) (string, []any) {
	subjects, args := among("ag.subject", s.Subjects)
	return "EXISTS (SELECT 1 FROM grants AS ag WHERE ag.object = " + column + " AND " + subjects + ")", args
}

func among(column string, values []string) (string, []any) {
	if len(values) == 0 {
		return "1 = 0", nil
	}
	args := make([]any, len(values))
	for i, v := range values {
		args[i] = v
	}
	return "(" + column + " IN (" + strings.Repeat("?, ", len(values)-1) + "?))", args
}

// Those is Where for a column with names of one kind only, for queries that read many rows: the hidden objects of the
// kind are found once, not for each row.
func Those(s access.Scope, kind, column string) (text string, args []any) {
	if s.All {
		return "1 = 1", nil
	}
	own, orgs := among("ao.org_id", s.Orgs)
	subjects, grantees := among("ag.subject", s.Subjects)
	if s.Strict {
		return "(" + column + " IN (SELECT ao.id FROM access_objects AS ao WHERE ao.kind = ? AND " + own + ") OR " +
				column + " IN (SELECT ag.object FROM grants AS ag WHERE " + subjects + "))",
			append(append([]any{kind}, orgs...), grantees...)
	}
	foreign, args := "", []any{kind}
	if len(s.Orgs) > 0 {
		foreign, args = " AND (ao.org_id IS NULL OR NOT "+own+")", append(args, orgs...)
	}
	return column + " NOT IN (SELECT ao.id FROM access_objects AS ao WHERE ao.kind = ? AND ao.restricted" + foreign +
			" AND NOT EXISTS (SELECT 1 FROM grants AS ag WHERE ag.object = ao.id AND " + subjects + "))",
		append(args, grantees...)
}
