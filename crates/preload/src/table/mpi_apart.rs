//! MPI: the functions that always come out the same, and those that are known and not replayed.
//!
//! A row is the arguments, all of them words, and the functions that take so many. Each makes the real call apart: what
//! the library does in it is no event. Exported under both names, like those of [`super::mpi`].

use crate::handle::input::note_unsupported;
use crate::handle::mpi::{aside, find, full};
use core::sync::atomic::AtomicUsize;

macro_rules! functions {
    ($before:path; $( $args:tt $($name:ident)* ; )*) => { $( $( functions!(@ $before, $name $args); )* )* };
    (@ $before:path, $name:ident ($($arg:ident)*)) => {
        #[allow(clippy::too_many_arguments)] // MPI's own
        mod $name {
            use super::*;

            unsafe fn call($($arg: usize),*) -> usize {
                static AT: AtomicUsize = AtomicUsize::new(0);
                let at = find::function(&AT, concat!("P", stringify!($name), "\0"));
                $before(stringify!($name));
                type Function = unsafe extern "C-unwind" fn($(functions!(@word $arg)),*) -> usize;
                // SAFETY: the library's function of that name, with the program's arguments.
                aside(|| unsafe { core::mem::transmute::<usize, Function>(at)($($arg),*) })
            }

            #[unsafe(export_name = stringify!($name))]
            unsafe extern "C-unwind" fn by_name($($arg: usize),*) -> usize {
                // SAFETY: the program calls a C function by its contract.
                unsafe { call($($arg),*) }
            }

            #[unsafe(export_name = concat!("P", stringify!($name)))]
            unsafe extern "C-unwind" fn by_profiling_name($($arg: usize),*) -> usize {
                // SAFETY: as above.
                unsafe { call($($arg),*) }
            }
        }
    };
    (@word $arg:ident) => { usize };
}

fn nothing(_: &'static str) {}

fn told(name: &'static str) {
    if retake_engine::turn::enter().is_some() {
        note_unsupported(name.as_bytes());
        full::refuse(name);
    }
}

// Results that depend on who came first, in ways that are not recorded.
functions! { told;
    (a b) MPI_Comm_join MPI_File_get_position_shared MPI_Win_lock_all MPI_Win_test;
    (a b c) MPI_File_seek_shared MPI_Lookup_name MPI_Parrived MPI_T_pvar_read MPI_T_pvar_readreset;
    (a b c d) MPI_Request_get_status_all MPI_Win_lock;
    (a b c d e) MPI_Comm_accept MPI_Comm_connect MPI_File_iread_shared MPI_File_iread_shared_c MPI_File_iwrite_shared
        MPI_File_iwrite_shared_c MPI_File_read_shared MPI_File_read_shared_c MPI_File_write_shared
        MPI_File_write_shared_c MPI_Grequest_start MPI_Request_get_status_any MPI_Request_get_status_some
        MPI_T_event_register_callback;
    (a b c d e f g) MPI_Compare_and_swap MPI_Fetch_and_op;
    (a b c d e f g h i) MPI_Accumulate MPI_Accumulate_c;
    (a b c d e f g h i j) MPI_Raccumulate MPI_Raccumulate_c;
    (a b c d e f g h i j k l) MPI_Get_accumulate MPI_Get_accumulate_c;
    (a b c d e f g h i j k l m) MPI_Rget_accumulate MPI_Rget_accumulate_c;
}

// Between ranks, and not kept: a rank that calls one of these cannot be replayed alone.
functions! { full::refuse;
    (a) MPI_Close_port MPI_File_close MPI_File_sync MPI_Session_finalize MPI_Win_complete MPI_Win_flush_all
        MPI_Win_flush_local_all MPI_Win_free MPI_Win_free_keyval MPI_Win_sync MPI_Win_unlock_all MPI_Win_wait;
    (a b) MPI_File_call_errhandler MPI_File_create_errhandler MPI_File_delete MPI_File_get_amode
        MPI_File_get_atomicity MPI_File_get_errhandler MPI_File_get_group MPI_File_get_info MPI_File_get_position
        MPI_File_get_size MPI_File_preallocate MPI_File_set_atomicity MPI_File_set_errhandler MPI_File_set_info
        MPI_File_set_size MPI_Open_port MPI_Pready MPI_Session_call_errhandler MPI_Session_create_errhandler
        MPI_Session_get_errhandler MPI_Session_get_info MPI_Session_set_errhandler MPI_Win_call_errhandler
        MPI_Win_create_errhandler MPI_Win_delete_attr MPI_Win_detach MPI_Win_fence MPI_Win_flush MPI_Win_flush_local
        MPI_Win_get_errhandler MPI_Win_get_group MPI_Win_get_info MPI_Win_set_errhandler MPI_Win_set_info
        MPI_Win_set_name MPI_Win_unlock;
    (a b c) MPI_Barrier_init MPI_Comm_idup MPI_File_get_byte_offset MPI_File_get_type_extent MPI_File_read_all_end
        MPI_File_read_at_all_end MPI_File_read_ordered_end MPI_File_seek MPI_File_write_all_end
        MPI_File_write_at_all_end MPI_File_write_ordered_end MPI_Graph_neighbors_count MPI_Graphdims_get
        MPI_Group_from_session_pset MPI_Pready_list MPI_Pready_range MPI_Publish_name MPI_Session_get_num_psets
        MPI_Session_get_pset_info MPI_Session_init MPI_Unpublish_name MPI_Win_attach MPI_Win_create_dynamic
        MPI_Win_get_name MPI_Win_post MPI_Win_set_attr MPI_Win_start;
    (a b c d) MPI_Comm_idup_with_info MPI_Dist_graph_neighbors_count MPI_File_read_all_begin
        MPI_File_read_ordered_begin MPI_File_write_all_begin MPI_File_write_ordered_begin MPI_Graph_neighbors
        MPI_Win_create_keyval MPI_Win_get_attr;
    (a b c d e) MPI_Bcast_c MPI_Cart_map MPI_Comm_create_from_group MPI_File_get_view MPI_File_iread
        MPI_File_iread_all MPI_File_iwrite MPI_File_iwrite_all MPI_File_open MPI_File_read MPI_File_read_all
        MPI_File_read_at_all_begin MPI_File_read_ordered MPI_File_write MPI_File_write_all MPI_File_write_at_all_begin
        MPI_File_write_ordered MPI_Graph_get MPI_Graph_map MPI_Session_get_nth_pset MPI_Win_shared_query
        MPI_Win_shared_query_c;
    (a b c d e f) MPI_Allreduce_c MPI_Exscan_c MPI_File_iread_at MPI_File_iread_at_all MPI_File_iwrite_at
        MPI_File_iwrite_at_all MPI_File_read_at MPI_File_read_at_all MPI_File_set_view MPI_File_write_at
        MPI_File_write_at_all MPI_Graph_create MPI_Ibcast_c MPI_Reduce_scatter_block_c MPI_Reduce_scatter_c MPI_Scan_c
        MPI_Win_allocate MPI_Win_allocate_c MPI_Win_allocate_shared MPI_Win_allocate_shared_c MPI_Win_create
        MPI_Win_create_c;
    (a b c d e f g) MPI_Allgather_c MPI_Alltoall_c MPI_Bcast_init MPI_Bcast_init_c MPI_Dist_graph_neighbors
        MPI_Iallreduce_c MPI_Iexscan_c MPI_Ireduce_scatter_block_c MPI_Ireduce_scatter_c MPI_Iscan_c
        MPI_Neighbor_allgather MPI_Neighbor_allgather_c MPI_Neighbor_alltoall MPI_Neighbor_alltoall_c MPI_Reduce_c;
    (a b c d e f g h) MPI_Allgatherv_c MPI_Allreduce_init MPI_Allreduce_init_c MPI_Exscan_init MPI_Exscan_init_c
        MPI_Gather_c MPI_Get MPI_Get_c MPI_Iallgather_c MPI_Ialltoall_c MPI_Ineighbor_allgather
        MPI_Ineighbor_allgather_c MPI_Ineighbor_alltoall MPI_Ineighbor_alltoall_c MPI_Intercomm_create_from_groups
        MPI_Ireduce_c MPI_Neighbor_allgatherv MPI_Neighbor_allgatherv_c MPI_Put MPI_Put_c
        MPI_Reduce_scatter_block_init MPI_Reduce_scatter_block_init_c MPI_Reduce_scatter_init
        MPI_Reduce_scatter_init_c MPI_Scan_init MPI_Scan_init_c MPI_Scatter_c;
    (a b c d e f g h i) MPI_Allgather_init MPI_Allgather_init_c MPI_Alltoall_init MPI_Alltoall_init_c MPI_Alltoallv_c
        MPI_Alltoallw_c MPI_Dist_graph_create MPI_Gatherv_c MPI_Iallgatherv_c MPI_Igather_c MPI_Ineighbor_allgatherv
        MPI_Ineighbor_allgatherv_c MPI_Iscatter_c MPI_Neighbor_allgather_init MPI_Neighbor_allgather_init_c
        MPI_Neighbor_alltoall_init MPI_Neighbor_alltoall_init_c MPI_Neighbor_alltoallv MPI_Neighbor_alltoallv_c
        MPI_Neighbor_alltoallw MPI_Neighbor_alltoallw_c MPI_Precv_init MPI_Psend_init MPI_Reduce_init
        MPI_Reduce_init_c MPI_Rget MPI_Rget_c MPI_Rput MPI_Rput_c MPI_Scatterv_c;
    (a b c d e f g h i j) MPI_Allgatherv_init MPI_Allgatherv_init_c MPI_Dist_graph_create_adjacent MPI_Gather_init
        MPI_Gather_init_c MPI_Ialltoallv_c MPI_Ialltoallw_c MPI_Igatherv_c MPI_Ineighbor_alltoallv
        MPI_Ineighbor_alltoallv_c MPI_Ineighbor_alltoallw MPI_Ineighbor_alltoallw_c MPI_Iscatterv_c
        MPI_Neighbor_allgatherv_init MPI_Neighbor_allgatherv_init_c MPI_Scatter_init MPI_Scatter_init_c;
    (a b c d e f g h i j k) MPI_Alltoallv_init MPI_Alltoallv_init_c MPI_Alltoallw_init MPI_Alltoallw_init_c
        MPI_Gatherv_init MPI_Gatherv_init_c MPI_Neighbor_alltoallv_init MPI_Neighbor_alltoallv_init_c
        MPI_Neighbor_alltoallw_init MPI_Neighbor_alltoallw_init_c MPI_Scatterv_init MPI_Scatterv_init_c;
}

// So are files in large counts.
functions! { full::refuse;
    (a b c) MPI_File_get_type_extent_c;
    (a b c d) MPI_File_read_all_begin_c MPI_File_read_ordered_begin_c MPI_File_write_all_begin_c
        MPI_File_write_ordered_begin_c;
    (a b c d e) MPI_File_iread_all_c MPI_File_iread_c MPI_File_iwrite_all_c MPI_File_iwrite_c MPI_File_read_all_c
        MPI_File_read_at_all_begin_c MPI_File_read_c MPI_File_read_ordered_c MPI_File_write_all_c
        MPI_File_write_at_all_begin_c MPI_File_write_c MPI_File_write_ordered_c;
    (a b c d e f) MPI_File_iread_at_all_c MPI_File_iread_at_c MPI_File_iwrite_at_all_c MPI_File_iwrite_at_c
        MPI_File_read_at_all_c MPI_File_read_at_c MPI_File_write_at_all_c MPI_File_write_at_c;
}

// Nothing but the library itself.
functions! { nothing;
    () MPI_Finalize;
    (a) MPI_Add_error_class MPI_Comm_disconnect MPI_Comm_free MPI_Comm_free_keyval
        MPI_Errhandler_free MPI_Free_mem MPI_Grequest_complete MPI_Group_free MPI_Info_create MPI_Info_free
        MPI_Is_thread_main MPI_Keyval_free MPI_Op_free MPI_Query_thread MPI_Type_commit MPI_Type_free
        MPI_Type_free_keyval;
    (a b) MPI_Add_error_code MPI_Add_error_string MPI_Address MPI_Attr_delete MPI_Buffer_attach MPI_Buffer_attach_c
        MPI_Buffer_detach MPI_Buffer_detach_c MPI_Comm_call_errhandler MPI_Comm_create_errhandler MPI_Comm_delete_attr
        MPI_Comm_dup MPI_Comm_get_errhandler MPI_Comm_get_info MPI_Comm_set_errhandler MPI_Comm_set_info
        MPI_Comm_set_name MPI_Errhandler_create MPI_Errhandler_get MPI_Errhandler_set MPI_Error_class MPI_Get_address
        MPI_Get_library_version MPI_Get_processor_name MPI_Get_version MPI_Info_delete MPI_Info_dup MPI_Info_get_nkeys
        MPI_Op_commutative MPI_Status_set_cancelled MPI_Test_cancelled MPI_Type_create_f90_integer
        MPI_Type_delete_attr MPI_Type_dup MPI_Type_extent MPI_Type_lb MPI_Type_set_name MPI_Type_size MPI_Type_size_c
        MPI_Type_size_x MPI_Type_ub;
    (a b c) MPI_Alloc_mem MPI_Attr_put MPI_Comm_dup_with_info MPI_Comm_get_name MPI_Comm_set_attr MPI_Dims_create
        MPI_Error_string MPI_Get_count MPI_Get_count_c MPI_Get_elements MPI_Get_elements_c MPI_Get_elements_x
        MPI_Info_create_env MPI_Info_get_nthkey MPI_Info_set MPI_Op_create MPI_Op_create_c MPI_Status_set_elements
        MPI_Status_set_elements_x MPI_Type_contiguous MPI_Type_contiguous_c MPI_Type_create_f90_complex
        MPI_Type_create_f90_real MPI_Type_get_extent MPI_Type_get_extent_c MPI_Type_get_extent_x MPI_Type_get_name
        MPI_Type_get_true_extent MPI_Type_get_true_extent_c MPI_Type_get_true_extent_x MPI_Type_match_size
        MPI_Type_set_attr;
    (a b c d) MPI_Attr_get MPI_Comm_create_keyval MPI_Comm_get_attr MPI_Comm_split MPI_Info_get_valuelen
        MPI_Keyval_create MPI_Pack_external_size MPI_Pack_external_size_c MPI_Pack_size MPI_Pack_size_c
        MPI_Type_create_keyval MPI_Type_create_resized MPI_Type_create_resized_c MPI_Type_get_attr;
    (a b c d e) MPI_Comm_split_type MPI_Info_get MPI_Info_get_string MPI_Reduce_local MPI_Reduce_local_c
        MPI_Register_datarep MPI_Type_create_hindexed MPI_Type_create_hindexed_block MPI_Type_create_hindexed_block_c
        MPI_Type_create_hindexed_c MPI_Type_create_hvector MPI_Type_create_hvector_c MPI_Type_create_indexed_block
        MPI_Type_create_indexed_block_c MPI_Type_create_struct MPI_Type_create_struct_c MPI_Type_get_envelope
        MPI_Type_hindexed MPI_Type_hvector MPI_Type_indexed MPI_Type_indexed_c MPI_Type_struct MPI_Type_vector
        MPI_Type_vector_c;
    (a b c d e f) MPI_Type_get_envelope_c;
    (a b c d e f g) MPI_Pack MPI_Pack_c MPI_Pack_external MPI_Pack_external_c MPI_Type_create_subarray
        MPI_Type_create_subarray_c MPI_Type_get_contents MPI_Unpack MPI_Unpack_c MPI_Unpack_external
        MPI_Unpack_external_c;
    (a b c d e f g h i) MPI_Type_get_contents_c;
    (a b c d e f g h i j) MPI_Type_create_darray MPI_Type_create_darray_c;
}

// So are its buffers since MPI 4.1, and its own variables.
functions! { nothing;
    () MPI_Buffer_flush MPI_T_finalize;
    (a) MPI_Buffer_iflush MPI_Comm_flush_buffer MPI_Get_hw_resource_info MPI_Remove_error_class MPI_Remove_error_code
        MPI_Remove_error_string MPI_Session_flush_buffer MPI_T_category_changed MPI_T_category_get_num
        MPI_T_cvar_get_num MPI_T_cvar_handle_free MPI_T_event_get_num MPI_T_pvar_get_num MPI_T_pvar_session_create
        MPI_T_pvar_session_free MPI_T_source_get_num;
    (a b) MPI_Comm_iflush_buffer MPI_Session_iflush_buffer MPI_Session_set_info MPI_T_category_get_index
        MPI_T_category_get_num_events MPI_T_cvar_get_index MPI_T_cvar_read MPI_T_cvar_write MPI_T_event_copy
        MPI_T_event_get_index MPI_T_event_get_source MPI_T_event_get_timestamp MPI_T_event_handle_get_info
        MPI_T_event_handle_set_info MPI_T_event_set_dropped_handler MPI_T_init_thread MPI_T_pvar_handle_free
        MPI_T_pvar_reset MPI_T_pvar_start MPI_T_pvar_stop MPI_T_source_get_timestamp;
    (a b c) MPI_Comm_attach_buffer MPI_Comm_attach_buffer_c MPI_Comm_detach_buffer MPI_Comm_detach_buffer_c
        MPI_Session_attach_buffer MPI_Session_attach_buffer_c MPI_Session_detach_buffer MPI_Session_detach_buffer_c
        MPI_Status_set_elements_c MPI_T_category_get_categories MPI_T_category_get_cvars MPI_T_category_get_events
        MPI_T_category_get_pvars MPI_T_event_callback_get_info MPI_T_event_callback_set_info MPI_T_event_handle_free
        MPI_T_event_read MPI_T_pvar_get_index MPI_T_pvar_write MPI_Type_get_value_index;
    (a b c d) MPI_T_cvar_handle_alloc MPI_T_enum_get_info MPI_T_event_handle_alloc;
    (a b c d e) MPI_Register_datarep_c MPI_T_enum_get_item MPI_T_pvar_handle_alloc;
    (a b c d e f g h) MPI_T_category_get_info;
    (a b c d e f g h i) MPI_T_source_get_info;
    (a b c d e f g h i j) MPI_T_cvar_get_info;
    (a b c d e f g h i j k l) MPI_T_event_get_info;
    (a b c d e f g h i j k l m) MPI_T_pvar_get_info;
}
