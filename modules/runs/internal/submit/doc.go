// Package submit takes requests for runs and pipelines: it completes and judges them, and stores what they ask for.
//
// What a request says is frozen into the run: nothing that changes later, a template or an approval, alters it.
package submit
