; expect: @mask_mod: `%x = invoke i32 @risky(i32 %q_idx)` may throw
declare i32 @__gxx_personality_v0(...)
declare i32 @risky(i32)

define i1 @mask_mod(i32 %b, i32 %h, i32 %q_idx, i32 %kv_idx) personality ptr @__gxx_personality_v0 {
  %x = invoke i32 @risky(i32 %q_idx) to label %fine unwind label %thrown

fine:
  ret i1 true

thrown:
  %pad = landingpad { ptr, i32 } cleanup
  ret i1 false
}
