//! Names of events by their field in `FtraceEvent` (ftrace_event.proto of Perfetto v59): mainline's, and those of
//! Android kernels. An event that is not in the list is shown by its number.

/// Number and name of each, in the order of the numbers.
const NAMES: &str = "\
3 print, 4 sched_switch, 11 cpu_frequency, 12 cpu_frequency_limits, 13 cpu_idle, 14 clock_enable, 15 clock_disable,
16 clock_set_rate, 17 sched_wakeup, 18 sched_blocked_reason, 19 sched_cpu_hotplug, 20 sched_waking, 21 ipi_entry,
22 ipi_exit, 23 ipi_raise, 24 softirq_entry, 25 softirq_exit, 26 softirq_raise, 27 i2c_read, 28 i2c_write,
29 i2c_result, 30 i2c_reply, 31 smbus_read, 32 smbus_write, 33 smbus_result, 34 smbus_reply, 35 lowmemory_kill,
36 irq_handler_entry, 37 irq_handler_exit, 38 sync_pt, 39 sync_timeline, 40 sync_wait, 41 ext4_da_write_begin,
42 ext4_da_write_end, 43 ext4_sync_file_enter, 44 ext4_sync_file_exit, 45 block_rq_issue,
46 mm_vmscan_direct_reclaim_begin, 47 mm_vmscan_direct_reclaim_end, 48 mm_vmscan_kswapd_wake,
49 mm_vmscan_kswapd_sleep, 50 binder_transaction, 51 binder_transaction_received, 52 binder_set_priority,
53 binder_lock, 54 binder_locked, 55 binder_unlock, 56 workqueue_activate_work, 57 workqueue_execute_end,
58 workqueue_execute_start, 59 workqueue_queue_work, 60 regulator_disable, 61 regulator_disable_complete,
62 regulator_enable, 63 regulator_enable_complete, 64 regulator_enable_delay, 65 regulator_set_voltage,
66 regulator_set_voltage_complete, 67 cgroup_attach_task, 68 cgroup_mkdir, 69 cgroup_remount, 70 cgroup_rmdir,
71 cgroup_transfer_tasks, 72 cgroup_destroy_root, 73 cgroup_release, 74 cgroup_rename, 75 cgroup_setup_root,
76 mdp_cmd_kickoff, 77 mdp_commit, 78 mdp_perf_set_ot, 79 mdp_sspp_change, 80 tracing_mark_write,
81 mdp_cmd_pingpong_done, 82 mdp_compare_bw, 83 mdp_perf_set_panic_luts, 84 mdp_sspp_set, 85 mdp_cmd_readptr_done,
86 mdp_misr_crc, 87 mdp_perf_set_qos_luts, 88 mdp_trace_counter, 89 mdp_cmd_release_bw, 90 mdp_mixer_update,
91 mdp_perf_set_wm_levels, 92 mdp_video_underrun_done, 93 mdp_cmd_wait_pingpong, 94 mdp_perf_prefill_calc,
95 mdp_perf_update_bus, 96 rotator_bw_ao_as_context, 97 mm_filemap_add_to_page_cache,
98 mm_filemap_delete_from_page_cache, 99 mm_compaction_begin, 100 mm_compaction_defer_compaction,
101 mm_compaction_deferred, 102 mm_compaction_defer_reset, 103 mm_compaction_end, 104 mm_compaction_finished,
105 mm_compaction_isolate_freepages, 106 mm_compaction_isolate_migratepages, 107 mm_compaction_kcompactd_sleep,
108 mm_compaction_kcompactd_wake, 109 mm_compaction_migratepages, 110 mm_compaction_suitable,
111 mm_compaction_try_to_compact_pages, 112 mm_compaction_wakeup_kcompactd, 113 suspend_resume, 114 sched_wakeup_new,
115 block_bio_backmerge, 116 block_bio_bounce, 117 block_bio_complete, 118 block_bio_frontmerge, 119 block_bio_queue,
120 block_bio_remap, 121 block_dirty_buffer, 122 block_getrq, 123 block_plug, 124 block_rq_abort,
125 block_rq_complete, 126 block_rq_insert, 128 block_rq_remap, 129 block_rq_requeue, 130 block_sleeprq,
131 block_split, 132 block_touch_buffer, 133 block_unplug, 134 ext4_alloc_da_blocks, 135 ext4_allocate_blocks,
136 ext4_allocate_inode, 137 ext4_begin_ordered_truncate, 138 ext4_collapse_range, 139 ext4_da_release_space,
140 ext4_da_reserve_space, 141 ext4_da_update_reserve_space, 142 ext4_da_write_pages, 143 ext4_da_write_pages_extent,
144 ext4_direct_IO_enter, 145 ext4_direct_IO_exit, 146 ext4_discard_blocks, 147 ext4_discard_preallocations,
148 ext4_drop_inode, 149 ext4_es_cache_extent, 150 ext4_es_find_delayed_extent_range_enter,
151 ext4_es_find_delayed_extent_range_exit, 152 ext4_es_insert_extent, 153 ext4_es_lookup_extent_enter,
154 ext4_es_lookup_extent_exit, 155 ext4_es_remove_extent, 156 ext4_es_shrink, 157 ext4_es_shrink_count,
158 ext4_es_shrink_scan_enter, 159 ext4_es_shrink_scan_exit, 160 ext4_evict_inode,
161 ext4_ext_convert_to_initialized_enter, 162 ext4_ext_convert_to_initialized_fastpath,
163 ext4_ext_handle_unwritten_extents, 164 ext4_ext_in_cache, 165 ext4_ext_load_extent, 166 ext4_ext_map_blocks_enter,
167 ext4_ext_map_blocks_exit, 168 ext4_ext_put_in_cache, 169 ext4_ext_remove_space, 170 ext4_ext_remove_space_done,
171 ext4_ext_rm_idx, 172 ext4_ext_rm_leaf, 173 ext4_ext_show_extent, 174 ext4_fallocate_enter, 175 ext4_fallocate_exit,
176 ext4_find_delalloc_range, 177 ext4_forget, 178 ext4_free_blocks, 179 ext4_free_inode,
180 ext4_get_implied_cluster_alloc_exit, 181 ext4_get_reserved_cluster_alloc, 182 ext4_ind_map_blocks_enter,
183 ext4_ind_map_blocks_exit, 184 ext4_insert_range, 185 ext4_invalidatepage, 186 ext4_journal_start,
187 ext4_journal_start_reserved, 188 ext4_journalled_invalidatepage, 189 ext4_journalled_write_end,
190 ext4_load_inode, 191 ext4_load_inode_bitmap, 192 ext4_mark_inode_dirty, 193 ext4_mb_bitmap_load,
194 ext4_mb_buddy_bitmap_load, 195 ext4_mb_discard_preallocations, 196 ext4_mb_new_group_pa, 197 ext4_mb_new_inode_pa,
198 ext4_mb_release_group_pa, 199 ext4_mb_release_inode_pa, 200 ext4_mballoc_alloc, 201 ext4_mballoc_discard,
202 ext4_mballoc_free, 203 ext4_mballoc_prealloc, 204 ext4_other_inode_update_time, 205 ext4_punch_hole,
206 ext4_read_block_bitmap_load, 207 ext4_readpage, 208 ext4_releasepage, 209 ext4_remove_blocks,
210 ext4_request_blocks, 211 ext4_request_inode, 212 ext4_sync_fs, 213 ext4_trim_all_free, 214 ext4_trim_extent,
215 ext4_truncate_enter, 216 ext4_truncate_exit, 217 ext4_unlink_enter, 218 ext4_unlink_exit, 219 ext4_write_begin,
230 ext4_write_end, 231 ext4_writepage, 232 ext4_writepages, 233 ext4_writepages_result, 234 ext4_zero_range,
235 task_newtask, 236 task_rename, 237 sched_process_exec, 238 sched_process_exit, 239 sched_process_fork,
240 sched_process_free, 241 sched_process_hang, 242 sched_process_wait, 243 f2fs_do_submit_bio, 244 f2fs_evict_inode,
245 f2fs_fallocate, 246 f2fs_get_data_block, 247 f2fs_get_victim, 248 f2fs_iget, 249 f2fs_iget_exit,
250 f2fs_new_inode, 251 f2fs_readpage, 252 f2fs_reserve_new_block, 253 f2fs_set_page_dirty, 254 f2fs_submit_write_page,
255 f2fs_sync_file_enter, 256 f2fs_sync_file_exit, 257 f2fs_sync_fs, 258 f2fs_truncate, 259 f2fs_truncate_blocks_enter,
260 f2fs_truncate_blocks_exit, 261 f2fs_truncate_data_blocks_range, 262 f2fs_truncate_inode_blocks_enter,
263 f2fs_truncate_inode_blocks_exit, 264 f2fs_truncate_node, 265 f2fs_truncate_nodes_enter,
266 f2fs_truncate_nodes_exit, 267 f2fs_truncate_partial_nodes, 268 f2fs_unlink_enter, 269 f2fs_unlink_exit,
270 f2fs_vm_page_mkwrite, 271 f2fs_write_begin, 272 f2fs_write_checkpoint, 273 f2fs_write_end,
274 alloc_pages_iommu_end, 275 alloc_pages_iommu_fail, 276 alloc_pages_iommu_start, 277 alloc_pages_sys_end,
278 alloc_pages_sys_fail, 279 alloc_pages_sys_start, 280 dma_alloc_contiguous_retry, 281 iommu_map_range,
282 iommu_sec_ptbl_map_range_end, 283 iommu_sec_ptbl_map_range_start, 284 ion_alloc_buffer_end,
285 ion_alloc_buffer_fail, 286 ion_alloc_buffer_fallback, 287 ion_alloc_buffer_start, 288 ion_cp_alloc_retry,
289 ion_cp_secure_buffer_end, 290 ion_cp_secure_buffer_start, 291 ion_prefetching, 292 ion_secure_cma_add_to_pool_end,
293 ion_secure_cma_add_to_pool_start, 294 ion_secure_cma_allocate_end, 295 ion_secure_cma_allocate_start,
296 ion_secure_cma_shrink_pool_end, 297 ion_secure_cma_shrink_pool_start, 298 kfree, 299 kmalloc, 300 kmalloc_node,
301 kmem_cache_alloc, 302 kmem_cache_alloc_node, 303 kmem_cache_free, 304 migrate_pages_end, 305 migrate_pages_start,
306 migrate_retry, 307 mm_page_alloc, 308 mm_page_alloc_extfrag, 309 mm_page_alloc_zone_locked, 310 mm_page_free,
311 mm_page_free_batched, 312 mm_page_pcpu_drain, 313 rss_stat, 314 ion_heap_shrink, 315 ion_heap_grow, 316 fence_init,
317 fence_destroy, 318 fence_enable_signal, 319 fence_signaled, 320 clk_enable, 321 clk_disable, 322 clk_set_rate,
323 binder_transaction_alloc_buf, 324 signal_deliver, 325 signal_generate, 326 oom_score_adj_update, 327 generic,
328 mm_event_record, 329 sys_enter, 330 sys_exit, 331 zero, 332 gpu_frequency, 333 sde_tracing_mark_write,
334 mark_victim, 335 ion_stat, 336 ion_buffer_create, 337 ion_buffer_destroy, 338 scm_call_start, 339 scm_call_end,
340 gpu_mem_total, 341 thermal_temperature, 342 cdev_update, 343 cpuhp_exit, 344 cpuhp_multi_enter, 345 cpuhp_enter,
346 cpuhp_latency, 347 fastrpc_dma_stat, 348 dpu_tracing_mark_write, 349 g2d_tracing_mark_write,
350 mali_tracing_mark_write, 351 dma_heap_stat, 352 cpuhp_pause, 353 sched_pi_setprio, 354 sde_sde_evtlog,
355 sde_sde_perf_calc_crtc, 356 sde_sde_perf_crtc_update, 357 sde_sde_perf_set_qos_luts, 358 sde_sde_perf_update_bus,
359 rss_stat_throttled, 360 netif_receive_skb, 361 net_dev_xmit, 362 inet_sock_set_state, 363 tcp_retransmit_skb,
364 cros_ec_sensorhub_data, 365 napi_gro_receive_entry, 366 napi_gro_receive_exit, 367 kfree_skb, 368 kvm_access_fault,
369 kvm_ack_irq, 370 kvm_age_hva, 371 kvm_age_page, 372 kvm_arm_clear_debug, 373 kvm_arm_set_dreg32,
374 kvm_arm_set_regset, 375 kvm_arm_setup_debug, 376 kvm_entry, 377 kvm_exit, 378 kvm_fpu, 379 kvm_get_timer_map,
380 kvm_guest_fault, 381 kvm_handle_sys_reg, 382 kvm_hvc_arm64, 383 kvm_irq_line, 384 kvm_mmio, 385 kvm_mmio_emulate,
386 kvm_set_guest_debug, 387 kvm_set_irq, 388 kvm_set_spte_hva, 389 kvm_set_way_flush, 390 kvm_sys_access,
391 kvm_test_age_hva, 392 kvm_timer_emulate, 393 kvm_timer_hrtimer_expire, 394 kvm_timer_restore_state,
395 kvm_timer_save_state, 396 kvm_timer_update_irq, 397 kvm_toggle_cache, 398 kvm_unmap_hva_range,
399 kvm_userspace_exit, 400 kvm_vcpu_wakeup, 401 kvm_wfx_arm64, 402 trap_reg, 403 vgic_update_irq_pending,
404 wakeup_source_activate, 405 wakeup_source_deactivate, 406 ufshcd_command, 407 ufshcd_clk_gating, 408 console,
409 drm_vblank_event, 410 drm_vblank_event_delivered, 411 drm_sched_job, 412 drm_run_job, 413 drm_sched_process_job,
414 dma_fence_init, 415 dma_fence_emit, 416 dma_fence_signaled, 417 dma_fence_wait_start, 418 dma_fence_wait_end,
419 f2fs_iostat, 420 f2fs_iostat_latency, 421 sched_cpu_util_cfs, 422 v4l2_qbuf, 423 v4l2_dqbuf,
424 vb2_v4l2_buf_queue, 425 vb2_v4l2_buf_done, 426 vb2_v4l2_qbuf, 427 vb2_v4l2_dqbuf, 428 dsi_cmd_fifo_status,
429 dsi_rx, 430 dsi_tx, 431 android_fs_dataread_end, 432 android_fs_dataread_start, 433 android_fs_datawrite_end,
434 android_fs_datawrite_start, 435 android_fs_fsync_end, 436 android_fs_fsync_start, 437 funcgraph_entry,
438 funcgraph_exit, 439 virtio_video_cmd, 440 virtio_video_cmd_done, 441 virtio_video_resource_queue,
442 virtio_video_resource_queue_done, 443 mm_shrink_slab_start, 444 mm_shrink_slab_end, 445 trusty_smc,
446 trusty_smc_done, 447 trusty_std_call32, 448 trusty_std_call32_done, 449 trusty_share_memory,
450 trusty_share_memory_done, 451 trusty_reclaim_memory, 452 trusty_reclaim_memory_done, 453 trusty_irq,
454 trusty_ipc_handle_event, 455 trusty_ipc_connect, 456 trusty_ipc_connect_end, 457 trusty_ipc_write,
458 trusty_ipc_poll, 460 trusty_ipc_read, 461 trusty_ipc_read_end, 462 trusty_ipc_rx, 464 trusty_enqueue_nop,
465 cma_alloc_start, 466 cma_alloc_info, 467 lwis_tracing_mark_write, 468 virtio_gpu_cmd_queue,
469 virtio_gpu_cmd_response, 470 mali_mali_KCPU_CQS_SET, 471 mali_mali_KCPU_CQS_WAIT_START,
472 mali_mali_KCPU_CQS_WAIT_END, 473 mali_mali_KCPU_FENCE_SIGNAL, 474 mali_mali_KCPU_FENCE_WAIT_START,
475 mali_mali_KCPU_FENCE_WAIT_END, 476 hyp_enter, 477 hyp_exit, 478 host_hcall, 479 host_smc, 480 host_mem_abort,
481 suspend_resume_minimal, 482 mali_mali_CSF_INTERRUPT_START, 483 mali_mali_CSF_INTERRUPT_END,
484 samsung_tracing_mark_write, 485 binder_command, 486 binder_return, 487 sched_switch_with_ctrs, 488 gpu_work_period,
489 rpm_status, 490 panel_write_generic, 491 sched_migrate_task, 492 dpu_dsi_cmd_fifo_status, 493 dpu_dsi_rx,
494 dpu_dsi_tx, 495 f2fs_background_gc, 496 f2fs_gc_begin, 497 f2fs_gc_end, 498 fastrpc_dma_free,
499 fastrpc_dma_alloc, 500 fastrpc_dma_unmap, 501 fastrpc_dma_map, 502 google_icc_event, 503 google_irm_event,
504 device_pm_callback_start, 505 device_pm_callback_end, 506 thermal_exynos_acpm_bulk,
507 thermal_exynos_acpm_high_overhead, 508 dcvsh_freq, 509 kgsl_gpu_frequency,
510 mali_mali_PM_MCU_HCTL_CORES_DOWN_SCALE_NOTIFY_PEND, 511 mali_mali_PM_MCU_HCTL_CORES_NOTIFY_PEND,
512 mali_mali_PM_MCU_HCTL_CORE_INACTIVE_PEND, 513 mali_mali_PM_MCU_HCTL_MCU_ON_RECHECK,
514 mali_mali_PM_MCU_HCTL_SHADERS_CORE_OFF_PEND, 515 mali_mali_PM_MCU_HCTL_SHADERS_PEND_OFF,
516 mali_mali_PM_MCU_HCTL_SHADERS_PEND_ON, 517 mali_mali_PM_MCU_HCTL_SHADERS_READY_OFF, 518 mali_mali_PM_MCU_IN_SLEEP,
519 mali_mali_PM_MCU_OFF, 520 mali_mali_PM_MCU_ON, 521 mali_mali_PM_MCU_ON_CORE_ATTR_UPDATE_PEND,
522 mali_mali_PM_MCU_ON_GLB_REINIT_PEND, 523 mali_mali_PM_MCU_ON_HALT, 524 mali_mali_PM_MCU_ON_HWCNT_DISABLE,
525 mali_mali_PM_MCU_ON_HWCNT_ENABLE, 526 mali_mali_PM_MCU_ON_PEND_HALT, 527 mali_mali_PM_MCU_ON_PEND_SLEEP,
528 mali_mali_PM_MCU_ON_SLEEP_INITIATE, 529 mali_mali_PM_MCU_PEND_OFF, 530 mali_mali_PM_MCU_PEND_ON_RELOAD,
531 mali_mali_PM_MCU_POWER_DOWN, 532 mali_mali_PM_MCU_RESET_WAIT, 533 bcl_irq_trigger, 534 kgsl_adreno_cmdbatch_queued,
535 kgsl_adreno_cmdbatch_submitted, 536 kgsl_adreno_cmdbatch_sync, 537 kgsl_adreno_cmdbatch_retired,
538 pixel_mm_kswapd_wake, 539 pixel_mm_kswapd_done, 540 sched_wakeup_task_attr, 541 devfreq_frequency,
542 kprobe_event, 543 param_set_value_cpm, 544 do_sys_open, 545 open_exec, 546 block_io_start, 547 block_io_done,
548 mali_gpu_power_state, 549 dpu_disp_dpu_underrun, 550 dpu_disp_vblank_irq_enable, 551 hrtimer_start,
552 hrtimer_cancel, 553 hrtimer_expire_entry, 554 hrtimer_expire_exit, 555 timer_start, 556 timer_cancel,
557 timer_expire_entry, 558 timer_expire_exit, 559 local_timer_entry, 560 local_timer_exit, 561 dwc3_alloc_request,
562 dwc3_complete_trb, 563 dwc3_ctrl_req, 564 dwc3_ep_dequeue, 565 dwc3_ep_queue, 566 dwc3_event,
567 dwc3_free_request, 568 dwc3_gadget_ep_cmd, 569 dwc3_gadget_ep_disable, 570 dwc3_gadget_ep_enable,
571 dwc3_gadget_generic_cmd, 572 dwc3_gadget_giveback, 573 dwc3_prepare_trb, 574 dwc3_readl, 575 dwc3_writel,
576 cma_alloc_finish, 577 mm_alloc_contig_migrate_range_info, 578 host_ffa_call, 579 dmabuf_rss_stat, 580 iommu_idmap,
581 psci_mem_protect, 582 hypervisor_host_hcall, 583 hypervisor_host_smc, 584 hypervisor_hyp_exit,
585 hypervisor_iommu_idmap, 586 hypervisor_psci_mem_protect, 587 hypervisor_host_mem_abort, 588 hypervisor_hyp_enter,
589 hypervisor_iommu_idmap_complete, 590 hypervisor_vcpu_illegal_trap, 591 drm_sched_job_add_dep,
592 drm_sched_job_done, 593 drm_sched_job_queue, 594 drm_sched_job_run, 595 drm_sched_job_unschedulable,
596 fwtp_perfetto_counter, 597 scsi_dispatch_cmd_error, 598 scsi_dispatch_cmd_timeout, 599 scsi_eh_wakeup,
600 fwtp_perfetto_slice, 601 gpu_power_state, 602 gram_collision, 603 f2fs_lock_elapsed_time, 604 sched_group_tracker,
605 dpu_disp_frame_done_timeout, 606 dpu_disp_frame_start_timeout, 607 mm_vmscan_memcg_reclaim_begin,
608 mm_vmscan_memcg_reclaim_end, 609 dpu_disp_frame_done_missing, 610 dpu_disp_frame_start_missing,
611 panel_settings_full, 612 panel_settings_lite, 613 dpu_disp_dpu_line_underrun, 614 psci_domain_idle_exit,
615 psci_domain_idle_enter, 616 long_irq, 617 long_softirq";

/// The name of a field.
pub(super) fn of(field: u32) -> Option<&'static str> {
    let pairs = NAMES.split(',').filter_map(|pair| pair.trim().split_once(' '));
    pairs.filter(|(number, _)| number.parse() == Ok(field)).map(|(_, name)| name).next()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kind::Kinds;
    use crate::perfetto::schema;

    #[test]
    fn fields_have_the_names_of_the_schema() {
        for (field, name) in [(3, "print"), (11, "cpu_frequency"), (23, "ipi_raise"), (113, "suspend_resume")] {
            assert_eq!(of(field), Some(name));
        }
        assert_eq!((of(1), of(127), of(u32::MAX)), (None, None, None));
    }

    #[test]
    fn what_is_read_has_the_field_of_its_name() {
        for kind in Kinds::ALL.iter() {
            let field = schema::field(kind);
            assert_eq!(field.and_then(of), field.map(|_| kind.name()));
        }
    }

    #[test]
    fn each_pair_reads() {
        let numbers: Vec<u32> =
            NAMES.split(',').filter_map(|pair| pair.split_whitespace().next()?.parse().ok()).collect();
        assert!(numbers.len() > 590 && numbers.is_sorted() && numbers.iter().all(|number| of(*number).is_some()));
    }
}
