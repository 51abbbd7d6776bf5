// Package rights manages what gives rights: teams and organizations with their members, grants, and the objects that
// can have grants. Its guard answers other contexts what the caller may do; the rules themselves are the authorizer's.
//
// The callers check who may change teams, organizations and grants. This package checks who may read members.
package rights
